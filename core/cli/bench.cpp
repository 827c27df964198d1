// switchyard bench: steps without data, timed.
#include <iostream>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

int bench(const BenchArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  sy_bench_options options{};
  options.size = sizeof(options);
  options.warm_up = arguments.warm_up;
  options.steps = arguments.steps;
  options.peak_flops = arguments.peak_flops;
  char *text = nullptr, *json = nullptr;
  call([&](sy_error** err) {
    return sy_bench(runtime.get(), &options, arguments.json ? nullptr : &text, arguments.json ? &json : nullptr, err);
  });
  std::cout << (arguments.json ? json : text) << (arguments.json ? "\n" : "");
  sy_free(text);
  sy_free(json);
  return done;
}

}  // namespace cli
