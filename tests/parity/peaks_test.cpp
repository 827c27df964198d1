// Planned against measured peak bytes, per device: what the plan says before anything is allocated, and what the
// backend counted (the core's own storage and LibTorch's tensors) over two steps.

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "../core/engine/plain_model.hpp"
#include "../core/store/temp_folder.hpp"
#include "measure/measure.hpp"

namespace {

using namespace plain;

const std::string gpt = R"(
[model]
context = 64
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 256
width = 64
positions = "learned"
[[layer]]
type = "gpt_block"
name = "h"
repeat = 6
heads = 4
[[layer]]
type = "lm_head"
name = "head"
vocabulary = 256
)";

const std::string tied = R"(
[model]
context = 64
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 256
width = 64
[[layer]]
type = "gpt_block"
name = "h"
repeat = 4
heads = 4
kv_heads = 2
rotary = true
norm = "rms"
activation = "swiglu"
dropout = 0.1
[[layer]]
type = "lm_head"
name = "head"
tied_to = "embed.token.weight"
)";

const std::string transformer = R"(
[model]
input = { shape = [32, 24], type = "fp32" }
[[layer]]
type = "linear"
name = "into"
out = 64
[[layer]]
name = "h"
repeat = 3
[[layer.layer]]
type = "attention"
name = "attn"
heads = 4
causal = false
[[layer.layer]]
type = "feed_forward"
name = "mlp"
activation = "relu"
[[layer.layer]]
type = "batchnorm"
name = "bn"
axis = -1
[[layer]]
type = "mean"
name = "time"
axis = 1
[[layer]]
type = "linear"
name = "out"
out = 10
[[layer]]
type = "cross_entropy"
name = "loss"
)";

const std::string convolutional = R"(
[model]
input = { shape = [3, 16, 16], type = "fp32" }
[[layer]]
type = "conv2d"
name = "stem"
out = 16
kernel = 3
padding = 1
[[layer]]
name = "res"
repeat = 3
[[layer.layer]]
type = "conv2d"
name = "conv"
out = 16
kernel = 3
padding = 1
[[layer.layer]]
type = "batchnorm"
name = "bn"
[[layer.layer]]
type = "activation"
name = "relu"
kind = "relu"
[[layer.layer]]
type = "add"
name = "sum"
input = ["relu", "in"]
[[layer]]
type = "pool2d"
name = "pool"
kind = "avg"
size = "global"
[[layer]]
type = "linear"
name = "head"
out = 10
[[layer]]
type = "cross_entropy"
name = "loss"
)";

const std::string mlp = R"(
[model]
input = { shape = [48], type = "fp32" }
[[layer]]
name = "h"
repeat = 5
[[layer.layer]]
type = "linear"
name = "linear"
out = 256
[[layer.layer]]
type = "activation"
name = "act"
kind = "gelu"
[[layer]]
type = "linear"
name = "out"
out = 10
[[layer]]
type = "cross_entropy"
name = "loss"
)";

struct Case {
  int devices;
  const char* policy;
  const char* schedule;
  int micro_batches;
  const char* recompute;
  const char* precision;
  std::string text() const {
    return std::to_string(devices) + " devices, " + policy + ", " + schedule + ", " + std::to_string(micro_batches) +
           " micro-batches, recompute " + recompute + ", " + precision;
  }
};

/// Devices of plans, and how far what was measured lies from what was planned.
class Errors {
 public:
  void add(const Case& c, const DevicePeak& peak) {
    const auto measured = static_cast<double>(peak.measured), planned = static_cast<double>(peak.planned);
    CAPTURE(c.text());
    CAPTURE(peak.device);
    CHECK(measured >= (1 - close) * planned);
    CHECK(measured <= (1 + close) * planned);
    ++devices_;
    worst_ = std::max(worst_, std::abs(measured / planned - 1));
  }
  void check() const {
    MESSAGE(devices_, " devices; the farthest is ", 100 * worst_, " % away from its plan");
    CHECK(devices_ >= 90);
  }

 private:
  static constexpr double close = 0.05;
  int devices_ = 0;
  double worst_ = 0;
};

/// One model whose layers were timed, as by plan --measure, with each size of a micro-batch that was asked for.
class Measured {
 public:
  explicit Measured(const std::string& layers) : text_(layers) {}
  std::unique_ptr<Pipe> build(const std::vector<std::string>& sets) {
    const Config config = parse_config(text_, folder_ / "model.toml", sets);
    BatchSpec spec;
    if (config.model.input)
      spec.input_shape = config.model.input->shape, spec.input_dtype = dtype::f32;
    else
      spec.input_shape = {*config.model.context}, spec.input_dtype = dtype::i64;
    const int64_t rows = micro_batch_rows(config)[0].count;
    auto model = Model::create(config, registry(), spec, rows);
    if (rows_.insert(rows).second) {
      MeasuredCosts costs = MeasuredCosts::read(costs_file(config));
      measure_costs(config, registry(), *model, make_plan(config, registry(), *model), {rows}, costs);
      costs.write(costs_file(config));
    }
    Plan plan = make_plan(config, registry(), *model);
    return Pipe::build(config, registry(), std::move(model), std::move(plan));
  }

 private:
  std::string text_;
  switchyard::test::TempFolder folder_;
  std::set<int64_t> rows_;
};

void check(const std::string& layers, const Case& c, Measured& measured, Errors& errors) {
  const std::vector<std::string> sets = {"devices.use=[\"cpu:{0.." + std::to_string(c.devices - 1) + "}\"]",
                                         "devices.threads=1",
                                         "placement.policy=" + std::string(c.policy),
                                         "schedule.type=" + std::string(c.schedule),
                                         "schedule.micro_batches=" + std::to_string(c.micro_batches),
                                         "train.recompute=" + std::string(c.recompute),
                                         "precision.type=" + std::string(c.precision)};
  // On the CPU oneDNN converts fp16 operands in scratch memory, as much as the processor at hand needs.
  auto pipe = c.precision == std::string("fp16") ? measured.build(sets) : build(layers, sets);
  for (const int step : {1, 2}) pipe->step(batch_for(pipe->model(), 32, step), static_cast<uint64_t>(step), 1e-3);
  for (const DevicePeak& peak : pipe->peaks()) errors.add(c, peak);
}

void check_peaks(const std::string& model) {
  const std::string layers = model + "[train]\nbatch = 32\noptimizer = { type = \"adamw\", lr = 1e-3 }\n";
  Measured measured(layers);
  Errors errors;
  for (const char* precision : {"fp32", "bf16", "fp16"})
    for (const char* recompute : {"false", "true"}) {
      for (const char* schedule : {"gpipe", "1f1b"}) {
        for (const char* policy : {"contiguous", "round_robin"})
          check(layers, {2, policy, schedule, 4, recompute, precision}, measured, errors);
        check(layers, {3, "memory_balanced", schedule, 4, recompute, precision}, measured, errors);
      }
      for (const int micro_batches : {1, 8})
        check(layers, {2, "contiguous", "1f1b", micro_batches, recompute, precision}, measured, errors);
    }
  errors.check();
}

}  // namespace

TEST_CASE("gpt") { check_peaks(gpt); }
TEST_CASE("tied gpt with rotary positions and dropout") { check_peaks(tied); }
TEST_CASE("split transformer") { check_peaks(transformer); }
TEST_CASE("convolutional") { check_peaks(convolutional); }
TEST_CASE("mlp") { check_peaks(mlp); }
