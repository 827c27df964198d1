// Small models of plain layers, and what tests of the engine do with them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/source.hpp"
#include "engine/pipe.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "plugin/registry.hpp"

namespace plain {

using namespace switchyard;

/// The plugins of the build tree, and the plain and faulty layers beside the tests.
inline Registry& registry() {
  const std::string folder = std::string(std::getenv("SWITCHYARD_BUILD")) + "/tests/plugins/";
  static Registry r({}, {folder + "plain", folder + "faulty"});
  return r;
}

/// A residual token model with a tied head, dropout and a batch norm, 8 layers.
inline const char* const token_layers = R"(
[model]
context = 6
[[layer]]
type = "plain_embedding"
name = "embed"
vocabulary = 11
width = 8
context = 6
[[layer]]
name = "h"
repeat = 2
[[layer.layer]]
type = "plain_norm"
name = "norm"
[[layer.layer]]
type = "plain_linear"
name = "up"
out = 8
[[layer.layer]]
type = "plain_dropout"
name = "drop"
p = 0.2
[[layer.layer]]
type = "plain_add"
name = "add"
input = ["drop", "in"]
[[layer]]
type = "plain_head"
name = "head"
vocabulary = 11
tied_to = "embed.token.weight"
)";

/// Tables: two towers that meet again over a long skip, with a batch norm.
inline const char* const table_layers = R"(
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
type = "plain_batchnorm"
name = "bn"
[[layer]]
type = "plain_linear"
name = "b"
out = 7
[[layer]]
type = "plain_relu"
name = "c"
[[layer]]
type = "plain_add"
name = "skip"
input = ["c", "stem"]
[[layer]]
type = "plain_add"
name = "skip2"
input = ["skip", "a"]
[[layer]]
type = "plain_linear"
name = "out"
out = 4
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

inline const char* const training = R"(
[devices]
use = ["cpu:0", "cpu:1", "cpu:2", "cpu:3", "cpu:4", "cpu:5", "cpu:6", "cpu:7"]
threads = 1
[placement]
policy = "contiguous"
[schedule]
type = "1f1b"
micro_batches = 4
[train]
batch = 8
steps = 4
clip_norm = 0.5
optimizer = { type = "adamw", lr = 1e-2, weight_decay = 0.1 }
)";

inline std::unique_ptr<Pipe> build(const Config& config, bool one_device = false) {
  BatchSpec spec;
  if (config.model.input)
    spec.input_shape = config.model.input->shape, spec.input_dtype = dtype::f32;
  else
    spec.input_shape = {*config.model.context}, spec.input_dtype = dtype::i64;
  auto model = Model::create(config, registry(), spec, micro_batch_rows(config)[0].count);
  Plan plan = one_device ? make_single_device_plan(config, registry(), *model) : make_plan(config, registry(), *model);
  return Pipe::build(config, registry(), std::move(model), std::move(plan));
}

inline std::unique_ptr<Pipe> build(const std::string& text, const std::vector<std::string>& sets = {},
                                   bool one_device = false) {
  return build(parse_config(text, "test.toml", sets), one_device);
}

/// Samples that depend on nothing but `step`.
inline Batch batch_for(Model& model, int64_t rows, int step) {
  Batch b;
  const BatchSpec& spec = model.batch();
  const auto with_rows = [&](Shape s) {
    s.insert(s.begin(), rows);
    return s;
  };
  b.inputs.reset(spec.input_dtype, with_rows(spec.input_shape));
  b.targets.reset(spec.target_dtype, with_rows(*spec.target_shape));
  uint64_t state = 12345 + static_cast<uint64_t>(step);
  const auto next = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
  const int64_t limit = std::max<int64_t>(2, model.shapes(SY_TRAIN, rows).batch_targets.id_limit);
  if (spec.input_dtype == dtype::f32)
    for (float& x : b.inputs.values<float>()) x = static_cast<float>(next() % 1000) / 500 - 1;
  else
    for (int64_t& id : b.inputs.values<int64_t>()) id = static_cast<int64_t>(next() % 11);
  for (int64_t& id : b.targets.values<int64_t>()) id = static_cast<int64_t>(next() % static_cast<uint64_t>(limit));
  return b;
}

/// Everything that must not depend on the placement.
struct Trace {
  std::vector<double> losses, norms;
  std::vector<std::vector<float>> gradients;   // of every step and weight
  std::vector<std::vector<std::byte>> values;  // after the last step
  bool operator==(const Trace&) const = default;
};

inline Trace train(Pipe& pipe, int steps, int first = 1) {
  Trace t;
  for (int step = first; step < first + steps; ++step) {
    const StepResult r = pipe.step(batch_for(pipe.model(), pipe.plan().batch, step), static_cast<uint64_t>(step), 1e-2);
    t.losses.push_back(r.loss);
    t.norms.push_back(r.grad_norm);
    for (const Parameter& p : pipe.model().parameters()) {
      if (!p.trainable || p.is_tied()) continue;
      t.gradients.emplace_back(static_cast<std::size_t>(p.count()));
      pipe.read_gradient(p.index, t.gradients.back());
    }
  }
  for (const Parameter& p : pipe.model().parameters()) {
    if (p.kind == SY_ACCUMULATOR) continue;
    t.values.emplace_back(static_cast<std::size_t>(p.count()) * pipe.stored_dtype({p.index, -1}).bits / 8);
    pipe.read({p.index, -1}, t.values.back());
  }
  return t;
}

}  // namespace plain
