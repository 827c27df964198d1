// ZBV (Qi et al., arXiv 2401.10241, section 6): the backward cut in two as in ZB-H1, over a map of stages in the
// shape of a V. Device d holds run d on the way down and run 2p - 1 - d on the way up, so that a micro-batch ends on
// the device where it began; the two runs of the last device are neighbours and one stage.
//
//   d0  F0.0 F0.1 F0.2 F2.0 ...          d0 holds stages 0 and 2, d1 holds stage 1
//   d1       F1.0      I1.0 ...                                          (p = 2)
//
// When F = I = W and m >= 2p, a step of 6m runs on each device takes 6m + p - 1: the last device begins p - 1 runs late
// and has no gap after that, which no order of actions can beat. At most p stage micro-batches are kept on each of a
// device's stages, as many as 1F1B keeps on its first.

#include "../list_schedule.hpp"

namespace {

struct Zbv {
  static constexpr const char* id = "zbv";
  static constexpr const char* help =
      "zero bubble over a V of stages (placement.contiguous.chunks = 2, order = \"v\"): no gap once the last device "
      "has "
      "begun when F = I = W and m >= 2 p, at most p micro-batches kept on each stage of a device";

  explicit Zbv(const sy::config&) {}

  void plan(const sy_schedule_in& in) const {
    const sy::schedule::device_map map = sy::schedule::map_of(in);
    sy::schedule::rules rules;
    for (const int64_t stages : map.stages) rules.most_kept.push_back(map.used * stages);
    rules.split = true;
    rules.patience = 0.25;
    sy::schedule::list_schedule(in, rules);
  }
};

}  // namespace

SY_PLUGIN_NOTE("schedule-zbv");
static constexpr sy_export exports[] = {sy::export_schedule<Zbv>()};
SY_DEFINE_PLUGIN("schedule-zbv", "0.1.0", exports)
