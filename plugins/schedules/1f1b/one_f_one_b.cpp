// 1F1B, also called PipeDream-Flush (Narayanan et al., ICML 2021): a backward as soon as it can, at most stages - s
// micro-batches in flight on stage s. As fast as GPipe with less memory.
//
//   d0  F0 F1 F2 .  B0 F3 B1 .  B2 .  B3
//   d1     F0 B0 F1 B1 F2 B2 F3 B3           (p = 2, m = 4, drawn with B as long as F)

#include <algorithm>

#include "../list_schedule.hpp"

namespace {

struct OneFOneB {
  static constexpr const char* id = "1f1b";
  static constexpr const char* help =
      "one forward, one backward; idle share (p - 1) / (m + p - 1), at most stages - s micro-batches in flight on "
      "stage s";

  explicit OneFOneB(const sy::config&) {}

  void plan(const sy_schedule_in& in) const {
    sy::schedule::rules rules;
    for (uint32_t s = 0; s < in.n_stages; ++s)
      rules.most_in_flight.push_back(std::min(in.n_stages - s, in.micro_batches));
    sy::schedule::list_schedule(in, rules);
  }
};

}  // namespace

SY_PLUGIN_NOTE("schedule-1f1b");
static constexpr sy_export exports[] = {sy::export_schedule<OneFOneB>()};
SY_DEFINE_PLUGIN("schedule-1f1b", "0.1.0", exports)
