// What a layer hands back: wrong device, shape or type are its mistake; strides and a second output are its right.

#include "faulty_model.hpp"

namespace {

using namespace plain;

std::string complaint(const std::string& options, const std::vector<std::string>& sets = {}) {
  auto pipe = build_faulty(options, sets);
  return error_of([&] { step(*pipe, 1); }).what();
}

const std::string place = "layer 2 'x' (faulty), stage 1 on cpu:1, micro-batch 0: ";

}  // namespace

TEST_CASE("an output on another device: expected and found") {
  CHECK(complaint(fault("wrong_device", "forward")) ==
        place + "output 0 lies on another device: expected cpu:1, found cpu:2");
  CHECK(complaint(fault("wrong_device", "backward")) ==
        place + "input gradient 0 lies on another device: expected cpu:1, found cpu:2");
}

TEST_CASE("an output that lost its first dimension: both shapes") {
  const std::string text = complaint(fault("squeeze", "forward"), {"schedule.micro_batches=8"});
  CHECK(text == place + "output 0 has shape [7], but [1, 7] was declared");
}

TEST_CASE("an output that is too wide: both shapes") {
  CHECK(complaint(fault("wide", "forward")) == place + "output 0 has shape [2, 8], but [2, 7] was declared");
  CHECK(complaint(fault("wide", "backward")) == place + "input gradient 0 has shape [2, 8], but [2, 7] was declared");
}

TEST_CASE("an output of another type: both types") {
  CHECK(complaint(fault("wrong_type", "forward")) == place + "output 0 is fp64, but fp32 was declared");
}

TEST_CASE("no output at all") { CHECK(complaint(fault("no_output", "forward")) == place + "output 0 was not given"); }

TEST_CASE("strided outputs and gradients survive an edge") {
  for (const char* in : {"forward", "backward"})
    for (const char* cut : {"[\"a\", \"b\", \"out\"]", "[\"a\", \"x\", \"b\"]"}) {
      const std::vector<std::string> sets = {std::string("placement.contiguous.cuts=") + cut};
      auto strided = build_faulty(fault("transpose", in), sets), plain = build_faulty("", sets);
      CHECK(train(*strided, 3) == train(*plain, 3));
    }
}

TEST_CASE("a layer that returns its input breaks nothing") {
  auto alias = build_faulty(fault("alias", "forward")), plain = build_faulty("");
  CHECK(train(*alias, 3) == train(*plain, 3));
}

namespace {

/// Both halves of "cut in two" are used, the second one two layers later.
const char* const halves = R"(
[model]
input = { shape = [6], type = "fp32" }
[[layer]]
type = "plain_linear"
name = "stem"
out = 8
[[layer]]
type = "plain_split"
name = "halves"
[[layer]]
type = "plain_linear"
name = "first"
input = "halves"
out = 4
[[layer]]
type = "plain_add"
name = "both"
input = ["first", "halves:1"]
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

const char* const with_index = R"(
[model]
input = { shape = [6], type = "fp32" }
[[layer]]
type = "plain_linear"
name = "stem"
out = 8
[[layer]]
type = "plain_split"
name = "which"
second = "index"
[[layer]]
type = "plain_linear"
name = "out"
input = "which"
out = 4
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

}  // namespace

TEST_CASE("two outputs with a cut behind them, one of them unused or of integers, equal one device") {
  for (const char* layers : {halves, with_index}) {
    const std::string text = std::string(layers) + faulty_training;
    auto alone = build(text, {"placement.contiguous.cuts=[\"loss\"]"}, true);
    const Trace one = train(*alone, 3);
    const std::string name = layers == halves ? "first" : "out";
    for (const std::string& cuts : {"[\"" + name + "\"]", "[\"" + name + "\", \"loss\"]"}) {
      auto pipe = build(text, {"placement.contiguous.cuts=" + cuts, "devices.use=[\"cpu:0\", \"cpu:1\", \"cpu:2\"]"});
      CHECK(train(*pipe, 3) == one);
    }
  }
}
