// switchyard inspect: every tensor, with its hash.
#include <iostream>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

namespace {

bool is_tensor_file(const std::string& path) {
  return path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json");
}

}  // namespace

int inspect(const CommonArguments& arguments) {
  const bool file = is_tensor_file(arguments.subject.path);
  const Runtime runtime = file ? open_runtime() : open_runtime(arguments.subject.path, arguments.subject.sets);
  const char* path = file ? arguments.subject.path.c_str() : nullptr;
  std::cout << text_of([&](char** give, sy_error** err) {
    return arguments.json ? sy_inspect(runtime.get(), path, nullptr, give, err)
                          : sy_inspect(runtime.get(), path, give, nullptr, err);
  }) << (arguments.json ? "\n" : "");
  return done;
}

}  // namespace cli
