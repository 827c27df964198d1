// GPipe (Huang et al., NeurIPS 2019): all forwards, then all backwards. Every micro-batch's activations live at once.
//
//   d0  F0 F1 F2          .  .  B0 B1 B2
//   d1     F0 F1 F2 B0 B1 B2

#include "../list_schedule.hpp"

namespace {

struct GPipe {
  static constexpr const char* id = "gpipe";
  static constexpr const char* help = "all forwards, then all backwards; idle share (p - 1) / (m + p - 1)";

  explicit GPipe(const sy::config&) {}

  void plan(const sy_schedule_in& in) const {
    sy::schedule::rules rules;
    rules.backward_after_forward = true;
    sy::schedule::list_schedule(in, rules);
  }
};

}  // namespace

SY_PLUGIN_NOTE("schedule-gpipe");
static constexpr sy_export exports[] = {sy::export_schedule<GPipe>()};
SY_DEFINE_PLUGIN("schedule-gpipe", "0.1.0", exports)
