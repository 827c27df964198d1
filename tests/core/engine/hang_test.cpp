// A layer that does not come back: the call returns all the same, and says why from then on.

#include <thread>

#include "faulty_model.hpp"

namespace {

using namespace plain;

/// One second of patience. "x" on cpu:1 sleeps longer than that over micro-batch 0, while "y" on cpu:0 fails in
/// micro-batch 1, a little later so that "x" is certainly asleep.
std::unique_ptr<Pipe> build_hanging() {
  const std::string layers = R"(
[model]
input = { shape = [5], type = "fp32" }
[[layer]]
type = "plain_linear"
name = "stem"
out = 7
[[layer]]
type = "faulty"
name = "pause"
fault = "slow"
in = "forward"
micro_batch = 1
ms = 200
[[layer]]
type = "faulty"
name = "y"
fault = "throw"
in = "forward"
micro_batch = 1
[[layer]]
type = "faulty"
name = "x"
fault = "slow"
in = "forward"
micro_batch = 0
ms = 2500
[[layer]]
type = "plain_linear"
name = "out"
out = 4
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";
  return build(layers + faulty_training,
               {"devices.use=[\"cpu:0\", \"cpu:1\"]", "placement.contiguous.cuts=[\"x\"]", "devices.stop_within=1"});
}

const char* const cause = "layer 2 'y' (faulty), stage 0 on cpu:0, micro-batch 1: faulty: thrown in forward as told";

}  // namespace

TEST_CASE("a call returns stop_within after the first failure, though a layer hangs") {
  auto pipe = build_hanging();
  const double seconds = seconds_of([&] { CHECK(std::string(error_of([&] { step(*pipe, 1); }).what()) == cause); });
  CHECK(seconds > 1.1);
  CHECK(seconds < 2.2);
  const double later = seconds_of([&] {
    const Error e = error_of([&] { step(*pipe, 2); });
    CHECK(e.code() == SY_E_STATE);
    CHECK(contains(e.what(), cause));
    CHECK(contains(error_of([&] { pipe->evaluate(batch_for(pipe->model(), 8, 1)); }).what(), cause));
    CHECK(contains(error_of([&] { pipe->values_changed(); }).what(), cause));
  });
  CHECK(later < 0.5);
  pipe.reset();                                                  // while the layer still sleeps
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));  // and while it wakes up
}

TEST_CASE("a pipe whose layer came back late is closed in order") {
  auto pipe = build_hanging();
  CHECK_THROWS_AS(step(*pipe, 1), Error);
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
  CHECK(error_of([&] { step(*pipe, 2); }).code() == SY_E_STATE);
  CHECK(seconds_of([&] { pipe.reset(); }) < 0.5);
}

TEST_CASE("a hang while binding ends the build in time") {
  const std::string layers = faulty_layers("fault = \"slow\"\nin = \"bind\"\nms = 2500\n");
  const std::string other = "[[layer]]\ntype = \"faulty\"\nname = \"y\"\nfault = \"throw\"\nin = \"bind\"\n";
  const auto at = layers.find("[[layer]]\ntype = \"plain_linear\"\nname = \"out\"");
  std::string both = layers;
  both.insert(at, other);
  const double seconds = seconds_of([&] {
    const Error e = error_of([&] { build(both + faulty_training, {"devices.stop_within=1"}); });
    CHECK(contains(e.what(), "'y' (faulty), stage 2 on cpu:2: faulty: thrown in bind as told"));
  });
  CHECK(seconds < 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(2000));
}
