// A small model over four devices with a layer "x" that misbehaves as told, and what a failed step must leave alone.
//
//   stage   0 cpu:0   1 cpu:1        2 cpu:2            3 cpu:3
//   layer   0 stem    1 a  2 x       3 b  4 bn          5 out  6 loss
#pragma once

#include <doctest/doctest.h>

#include <chrono>
#include <optional>

#include "../../support/text.hpp"
#include "plain_model.hpp"

namespace plain {

using switchyard::test::contains;

inline const char* const faulty_training = R"(
[devices]
use = ["cpu:0", "cpu:1", "cpu:2", "cpu:3"]
threads = 1
stop_within = 2
[placement]
policy = "contiguous"
[placement.contiguous]
cuts = ["a", "b", "out"]
[schedule]
type = "1f1b"
micro_batches = 4
[train]
batch = 8
steps = 4
clip_norm = 0.5
optimizer = { type = "adamw", lr = 1e-2, weight_decay = 0.1 }
)";

/// `options`: further lines of the faulty layer's table.
inline std::string faulty_layers(const std::string& options) {
  return R"(
[model]
input = { shape = [5], type = "fp32" }
[[layer]]
type = "plain_linear"
name = "stem"
out = 7
[[layer]]
type = "plain_tanh"
name = "a"
[[layer]]
type = "faulty"
name = "x"
)" + options +
         R"(
[[layer]]
type = "plain_linear"
name = "b"
out = 7
[[layer]]
type = "plain_batchnorm"
name = "bn"
[[layer]]
type = "plain_linear"
name = "out"
out = 4
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";
}

/// "fault = ..., in = ..., " and so on as lines of the layer's table.
inline std::string fault(const std::string& what, const std::string& in, int step = -1, int micro_batch = -1) {
  return "fault = \"" + what + "\"\nin = \"" + in + "\"\nstep = " + std::to_string(step) +
         "\nmicro_batch = " + std::to_string(micro_batch) + "\n";
}

inline std::unique_ptr<Pipe> build_faulty(const std::string& options, const std::vector<std::string>& sets = {}) {
  return build(faulty_layers(options) + faulty_training, sets);
}

inline StepResult step(Pipe& pipe, int number) {
  return pipe.step(batch_for(pipe.model(), pipe.plan().batch, number), static_cast<uint64_t>(number), 1e-2);
}

/// What body() throws; fails the test when it throws nothing.
template <class Body>
Error error_of(Body&& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  FAIL("nothing was thrown");
  return Error(SY_OK, "");
}

inline std::string noted(const Error& e, const std::string& key) { return e.note(key) ? *e.note(key) : ""; }

/// Values and optimizer states of all parameters, bit for bit.
inline std::vector<std::vector<std::byte>> state_of(Pipe& pipe) {
  std::vector<std::vector<std::byte>> all;
  const int states = static_cast<int>(pipe.plan().state_names.size());
  for (const Parameter& p : pipe.model().parameters()) {
    if (p.kind == SY_ACCUMULATOR) continue;
    for (int s = -1; s < (p.trainable && !p.is_tied() ? states : 0); ++s) {
      const TensorName name{p.index, s};
      all.emplace_back(static_cast<std::size_t>(p.count()) * pipe.stored_dtype(name).bits / 8);
      pipe.read(name, all.back());
    }
  }
  return all;
}

inline std::vector<std::byte> bytes_of(Pipe& pipe, const std::string& parameter) {
  for (const Parameter& p : pipe.model().parameters()) {
    if (p.name != parameter) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(p.count()) * pipe.stored_dtype({p.index, -1}).bits / 8);
    pipe.read({p.index, -1}, bytes);
    return bytes;
  }
  FAIL("no parameter ", parameter);
  return {};
}

inline double seconds_of(const std::function<void()>& body) {
  const auto before = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - before).count();
}

}  // namespace plain
