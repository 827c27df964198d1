// Planned against measured peak bytes, per device: what the plan says before anything is allocated, and what the
// accounts counted (the core's own storage and LibTorch's tensors) over two steps.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "../core/engine/plain_model.hpp"
#include "../core/store/temp_folder.hpp"
#include "measure/measure.hpp"

namespace parity {

using namespace plain;

struct PeakCase {
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

/// One model under many plans.
class Peaks {
 public:
  static constexpr double close = 0.05;

  /// Devices are called `device` with a number behind it: "cpu:", "cuda:0/". Plans in the precisions of `timed` are
  /// made as after plan --measure: there only the device at hand knows what its operators take beside their tensors.
  /// `below`: how far a measured peak may lie below its plan.
  Peaks(const std::string& model, const std::string& device, std::set<std::string> timed, double below = close)
      : text_(model + "[train]\nbatch = 32\noptimizer = { type = \"adamw\", lr = 1e-3 }\n"),
        device_(device),
        timed_(std::move(timed)),
        below_(below) {}

  void check_all() {
    for (const char* precision : {"fp32", "bf16", "fp16"})
      for (const char* recompute : {"false", "true"}) {
        for (const char* schedule : {"gpipe", "1f1b"}) {
          for (const char* policy : {"contiguous", "round_robin"})
            check({2, policy, schedule, 4, recompute, precision});
          check({3, "memory_balanced", schedule, 4, recompute, precision});
        }
        for (const int micro_batches : {1, 8}) check({2, "contiguous", "1f1b", micro_batches, recompute, precision});
      }
    MESSAGE(devices_, " devices; the farthest is ", 100 * worst_, " % away from its plan");
    CHECK(devices_ >= 90);
  }

 private:
  void check(const PeakCase& c) {
    auto pipe =
        build({"devices.use=[\"" + device_ + "{0.." + std::to_string(c.devices - 1) + "}\"]", "devices.threads=1",
               "placement.policy=" + std::string(c.policy), "schedule.type=" + std::string(c.schedule),
               "schedule.micro_batches=" + std::to_string(c.micro_batches),
               "train.recompute=" + std::string(c.recompute), "precision.type=" + std::string(c.precision)});
    for (const int step : {1, 2}) pipe->step(batch_for(pipe->model(), 32, step), static_cast<uint64_t>(step), 1e-3);
    for (const DevicePeak& peak : pipe->peaks()) {
      const auto measured = static_cast<double>(peak.measured), planned = static_cast<double>(peak.planned);
      CAPTURE(c.text());
      CAPTURE(peak.device);
      CHECK(measured >= (1 - below_) * planned);
      CHECK(measured <= (1 + close) * planned);
      ++devices_;
      worst_ = std::max(worst_, std::abs(measured / planned - 1));
    }
  }

  std::unique_ptr<Pipe> build(const std::vector<std::string>& sets) {
    const Config config = parse_config(text_, folder_ / "model.toml", sets);
    BatchSpec spec;
    if (config.model.input)
      spec.input_shape = config.model.input->shape, spec.input_dtype = dtype::f32;
    else
      spec.input_shape = {*config.model.context}, spec.input_dtype = dtype::i64;
    const int64_t rows = micro_batch_rows(config)[0].count;
    auto model = Model::create(config, registry(), spec, rows);
    if (timed_.contains(config.precision.type) && timings_.insert({config.precision.type, rows}).second)
      measure_into_file(config, registry(), *model, make_plan(config, registry(), *model), {rows});
    Plan plan = make_plan(config, registry(), *model);
    return Pipe::build(config, registry(), std::move(model), std::move(plan));
  }

  std::string text_, device_;
  std::set<std::string> timed_;
  double below_;
  switchyard::test::TempFolder folder_;
  std::set<std::pair<std::string, int64_t>> timings_;  // done: precision, samples of a micro-batch
  int devices_ = 0;
  double worst_ = 0;
};

}  // namespace parity
