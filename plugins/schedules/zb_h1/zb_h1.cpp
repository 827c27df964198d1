// ZB-H1 (Qi et al., "Zero Bubble Pipeline Parallelism", ICLR 2024): 1F1B with the backward cut in two. Only I, the
// gradient of a stage's input, keeps the stage before waiting; W, the gradients of its weights, fills what would be
// idle.
//
//   d0  F0 F1 .  I0 F2 W0 I1 F3 W1 I2 W2 I3 W3
//   d1     F0 I0 F1 I1 W0 F2 I2 W1 F3 I3 W2 W3            (p = 2, m = 4, F = I = W)
//
// As many micro-batches in flight as under 1F1B, but kept until W: at most p on each device. Stages that cannot split
// run B.

#include <algorithm>

#include "../list_schedule.hpp"

namespace {

struct ZbH1 {
  static constexpr const char* id = "zb_h1";
  static constexpr const char* help =
      "zero bubble H1: 1F1B whose weight gradients fill the gaps; idle share (p - 1) / (3 m + p - 1) when F = I = W, "
      "at "
      "most p micro-batches kept on a device";

  explicit ZbH1(const sy::config&) {}

  void plan(const sy_schedule_in& in) const {
    const sy::schedule::device_map map = sy::schedule::map_of(in);
    sy::schedule::rules rules;
    for (uint32_t s = 0; s < in.n_stages; ++s)
      rules.most_in_flight.push_back(std::min(in.n_stages - s, in.micro_batches));
    for (const int64_t stages : map.stages) rules.most_kept.push_back(map.used * stages);
    rules.forward_first = rules.split = true;
    rules.patience = 0.25;
    sy::schedule::list_schedule(in, rules);
  }
};

}  // namespace

SY_PLUGIN_NOTE("schedule-zb_h1");
static constexpr sy_export exports[] = {sy::export_schedule<ZbH1>()};
SY_DEFINE_PLUGIN("schedule-zb_h1", "0.1.0", exports)
