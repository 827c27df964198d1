// Interleaved 1F1B (Megatron-LM, Narayanan et al., SC 2021): each device holds v stages ("chunks"), stage s on device
// s mod p, and passes p micro-batches through one chunk before it takes up the next. The bubble is v times smaller than
// that of 1F1B, for more micro-batches in flight and v times as many hand-overs.
//
//   d0  F0.0 F0.1 F2.0 F2.1 B2.0 B2.1 B0.0 B0.1                 (p = 2, v = 2, m = 2; F2.1: stage 2, micro-batch 1)
//   d1       F1.0 F1.1 F3.0 B3.0 F3.1 B3.1 B1.0 B1.1
//
// On the regular map the lists are the paper's, except that a device does a ready backward where the paper's order
// makes it wait for a forward. One chunk for each device gives 1F1B. Every other map works, too.

#include "../list_schedule.hpp"

namespace {

struct Interleaved {
  static constexpr const char* id = "interleaved";
  static constexpr const char* help =
      "1F1B over v stages on each device (placement.contiguous.chunks, or round_robin); idle share (p - 1) / (v m + p "
      "- "
      "1), at most (v - 1) p + 2 (p - d - 1) + 1 stage micro-batches in flight on device d";

  explicit Interleaved(const sy::config&) {}

  void plan(const sy_schedule_in& in) const {
    const sy::schedule::device_map map = sy::schedule::map_of(in);
    const int64_t p = map.used, v = map.most_stages;
    sy::schedule::rules rules;
    for (uint32_t d = 0; d < in.n_devices; ++d)
      rules.most_kept.push_back((v - 1) * p + (v > 1 ? 2 : 1) * (p - 1 - map.number[d]) + 1);
    rules.group = p;
    rules.forwards_in_order = rules.forward_first = true;
    rules.most_waiting = 2;  // a device warms up with two forwards more than the next one
    sy::schedule::list_schedule(in, rules);
  }
};

}  // namespace

SY_PLUGIN_NOTE("schedule-interleaved");
static constexpr sy_export exports[] = {sy::export_schedule<Interleaved>()};
SY_DEFINE_PLUGIN("schedule-interleaved", "0.1.0", exports)
