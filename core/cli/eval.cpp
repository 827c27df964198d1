// switchyard eval: the loss on held-out samples.
#include <iostream>
#include <nlohmann/json.hpp>

#include "commands.hpp"
#include "handle.hpp"

namespace cli {

namespace {

/// "loss 1.74 (nats per byte), perplexity 5.7, accuracy 0.5; 16384 targets of 64 samples"; the loss with every digit.
std::string evaluation_text(const nlohmann::json& e) {
  std::string text = "loss " + e["loss"].dump();
  if (e.contains("nats_per_byte")) text += " nats per byte";
  for (const char* key : {"perplexity", "accuracy"})
    if (e.contains(key)) text += std::string(", ") + key + " " + e[key].dump();
  return text + "; " + e["valid"].dump() + " targets of " + e["samples"].dump() + " samples\n";
}

}  // namespace

int eval(const CommonArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  const std::string json = text_of([&](char** give, sy_error** err) { return sy_evaluate(runtime.get(), give, err); });
  std::cout << (arguments.json ? json + "\n" : evaluation_text(nlohmann::json::parse(json)));
  return done;
}

}  // namespace cli
