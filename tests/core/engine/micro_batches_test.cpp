// Each sample enters a step once, is scored with its own target, and weighs the same.

#include <cmath>
#include <cstring>

#include "faulty_model.hpp"

namespace {

using namespace plain;

/// Sample i has a one in column i. The first layer keeps that apart, so that the gradient of its weight says in column
/// i how much sample i counted.
const char* const tap = R"(
[model]
input = { shape = [8], type = "fp32" }
[[layer]]
type = "plain_linear"
name = "tap"
out = 4
[[layer]]
type = "faulty"
name = "between"
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

Batch one_hot(Pipe& pipe, const std::vector<int64_t>& targets) {
  Batch b = batch_for(pipe.model(), static_cast<int64_t>(targets.size()), 1);
  std::fill(b.inputs.values<float>().begin(), b.inputs.values<float>().end(), 0.0f);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    b.inputs.values<float>()[i * 8 + i] = 1;
    b.targets.values<int64_t>()[i] = targets[i];
  }
  return b;
}

std::unique_ptr<Pipe> build_tap(int micro_batches, const std::string& schedule) {
  return build(std::string(tap) + faulty_training,
               {"devices.use=[\"cpu:0\", \"cpu:1\"]", "placement.contiguous.cuts=[\"between\"]",
                "schedule.micro_batches=" + std::to_string(micro_batches), "schedule.type=" + schedule});
}

std::vector<float> tap_gradient(Pipe& pipe) {
  std::vector<float> g(4 * 8);
  pipe.read_gradient(0, g);
  return g;
}

}  // namespace

TEST_CASE("each sample enters exactly once, whatever the micro-batches and the schedule") {
  const std::vector<int64_t> targets = {0, 1, 2, 3, 0, 1, 2, 3};
  std::vector<float> whole;
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const int m : {1, 2, 3, 4, 8}) {
      auto pipe = build_tap(m, schedule);
      const StepResult r = pipe->gradients(one_hot(*pipe, targets), 1);
      CHECK(r.valid == 8);
      CHECK(r.micro_losses.size() == static_cast<std::size_t>(m));
      const auto g = tap_gradient(*pipe);
      for (std::size_t i = 0; i < 8; ++i) CHECK(g[static_cast<std::size_t>(targets[i]) * 8 + i] < 0);  // its own target
      if (whole.empty()) whole = g;
      CHECK(g == whole);  // one sample for each column: no sum is rounded
    }
}

TEST_CASE("micro-batch i is scored with targets i") {
  // The weight tells target i from sample i, so that a right pairing has next to no loss, and a wrong one much.
  const std::vector<int64_t> targets = {3, 1, 0, 2, 2, 0, 1, 3};
  std::vector<float> weight(4 * 8);
  for (std::size_t i = 0; i < 8; ++i) weight[static_cast<std::size_t>(targets[i]) * 8 + i] = 30;
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const int m : {1, 3, 4, 8}) {
      auto pipe = build_tap(m, schedule);
      pipe->write({0, -1}, std::as_bytes(std::span(weight)));
      pipe->values_changed();
      const StepResult r = pipe->gradients(one_hot(*pipe, targets), 1);
      CHECK(r.loss < 1e-9);
      CHECK(r.accuracy == 1.0);
    }
}

TEST_CASE("losses and gradients are sums over valid targets, divided once; a micro-batch without any gives no NaN") {
  // Two micro-batches of four: the first has one valid target, the second none, or three.
  for (const std::vector<int64_t>& targets :
       {std::vector<int64_t>{-100, 2, -100, -100, -100, -100, -100, -100}, {-100, 2, -100, -100, 1, 0, -100, 3}}) {
    auto whole = build_tap(1, "1f1b"), split = build_tap(2, "1f1b");
    const StepResult a = whole->gradients(one_hot(*whole, targets), 1),
                     b = split->gradients(one_hot(*split, targets), 1);
    CHECK(a.valid == b.valid);
    CHECK(std::isfinite(b.loss));
    CHECK(b.loss == doctest::Approx(a.loss).epsilon(1e-6));
    CHECK(tap_gradient(*split) == tap_gradient(*whole));
  }
}

TEST_CASE("a step without any valid target changes no gradient and gives a loss of zero") {
  auto pipe = build_tap(2, "1f1b");
  const StepResult r = pipe->gradients(one_hot(*pipe, std::vector<int64_t>(8, -100)), 1);
  CHECK(r.valid == 0);
  CHECK(r.loss == 0);
  CHECK(r.grad_norm == 0);
}

TEST_CASE("uneven micro-batches: 8 in 3 are 3, 3, 2, and 5 in 4 are 2, 1, 1, 1") {
  const auto rows = [](int batch, int m) {
    auto pipe =
        build_faulty("", {"train.batch=" + std::to_string(batch), "schedule.micro_batches=" + std::to_string(m)});
    std::vector<int64_t> counts;
    for (const RowRange& r : pipe->plan().rows) counts.push_back(r.count);
    CHECK(step(*pipe, 1).micro_losses.size() == static_cast<std::size_t>(m));
    return counts;
  };
  CHECK(rows(8, 3) == std::vector<int64_t>{3, 3, 2});
  CHECK(rows(5, 4) == std::vector<int64_t>{2, 1, 1, 1});
}

TEST_CASE("deferred batch norm: running statistics after a step do not depend on the micro-batches, nor on recompute") {
  const auto statistics = [](const std::string& m, const char* recompute) {
    auto pipe = build_faulty("", {"schedule.micro_batches=" + m, std::string("train.recompute=") + recompute,
                                  "placement.contiguous.cuts=[\"bn\"]", "devices.use=[\"cpu:0\", \"cpu:1\"]"});
    step(*pipe, 1);
    std::vector<float> all;
    for (const char* name : {"bn.running_mean", "bn.running_var"}) {
      const auto bytes = bytes_of(*pipe, name);
      const auto* numbers = reinterpret_cast<const float*>(bytes.data());
      all.insert(all.end(), numbers, numbers + bytes.size() / 4);
    }
    int64_t tracked = 0;
    std::memcpy(&tracked, bytes_of(*pipe, "bn.num_batches_tracked").data(), sizeof(tracked));
    CHECK(tracked == 1);
    return all;
  };
  const auto whole = statistics("1", "false");
  for (const char* m : {"1", "2", "4"})
    for (const char* recompute : {"false", "true"}) {
      const auto other = statistics(m, recompute);
      for (std::size_t i = 0; i < whole.size(); ++i) CHECK(std::abs(other[i] - whole[i]) < 1e-6);
    }
}

TEST_CASE("a failed step leaves running statistics alone, and its sums do not reach the next one") {
  auto pipe = build_faulty(fault("throw", "backward", 2, 3)), good = build_faulty("");
  CHECK_THROWS_AS(step(*pipe, 2), Error);
  step(*pipe, 3), step(*good, 3);
  CHECK(bytes_of(*pipe, "bn.running_var") == bytes_of(*good, "bn.running_var"));
  CHECK(bytes_of(*pipe, "bn.num_batches_tracked") == bytes_of(*good, "bn.num_batches_tracked"));
}
