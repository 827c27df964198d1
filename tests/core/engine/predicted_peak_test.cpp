// The plan's peak bytes against what the accounts measure, where layers declare what they take.

#include "faulty_model.hpp"

namespace {

using namespace plain;

/// Large enough that the few bytes of norms and losses do not matter.
const char* const wide_tables = R"(
[model]
input = { shape = [64], type = "fp32" }
[[layer]]
type = "plain_linear"
name = "stem"
out = 96
[[layer]]
name = "h"
repeat = 3
[[layer.layer]]
type = "plain_linear"
name = "up"
out = 96
[[layer.layer]]
type = "plain_relu"
name = "relu"
[[layer.layer]]
type = "plain_batchnorm"
name = "bn"
[[layer.layer]]
type = "plain_add"
name = "add"
input = ["bn", "in"]
[[layer]]
type = "plain_linear"
name = "out"
out = 40
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

void compare(const std::vector<std::string>& sets) {
  std::string all;
  for (const std::string& s : sets) all += s + " ";
  std::vector<std::string> with = sets;
  with.insert(with.end(), {"placement.contiguous.cuts=[]", "train.batch=64"});
  auto pipe = build(std::string(wide_tables) + faulty_training, with);
  for (int n = 1; n <= 2; ++n) step(*pipe, n);
  for (const DevicePeak& p : pipe->peaks()) {
    CAPTURE(all + p.device);
    CHECK(static_cast<double>(p.measured) >= 0.97 * static_cast<double>(p.planned));
    CHECK(static_cast<double>(p.measured) <= 1.01 * static_cast<double>(p.planned));
  }
}

}  // namespace

TEST_CASE("predicted and measured peaks agree over policies, schedules, micro-batches and recompute") {
  for (const char* policy : {"contiguous", "round_robin", "memory_balanced"})
    for (const char* schedule : {"gpipe", "1f1b"})
      for (const char* m : {"1", "3", "8"})
        for (const char* recompute : {"false", "true"})
          compare({std::string("placement.policy=") + policy, std::string("schedule.type=") + schedule,
                   std::string("schedule.micro_batches=") + m, std::string("train.recompute=") + recompute});
}

TEST_CASE("predicted and measured peaks agree in half precision with layers kept in fp32") {
  for (const char* keep : {"[]", "[\"*.bn\"]", "[\"*.relu\", \"stem\", \"out\"]", "[\"*\"]"})
    for (const char* recompute : {"false", "true"})
      compare({std::string("precision.keep_fp32=") + keep, "precision.type=bf16",
               std::string("train.recompute=") + recompute});
}
