// Forward passes only: for evaluation and prediction.

#include "../list_schedule.hpp"

namespace {

struct Forward {
  static constexpr const char* id = "forward";
  static constexpr const char* help = "forward passes only: evaluation and prediction; it cannot train";

  explicit Forward(const sy::config&) {}

  void plan(const sy_schedule_in& in) const {
    if (!in.forward_only)
      throw sy::fault(SY_E_CONFIG,
                      "the schedule 'forward' has no backward and cannot train; write type = \"1f1b\" or \"gpipe\"");
    sy::schedule::list_schedule(in, {});
  }
};

}  // namespace

SY_PLUGIN_NOTE("schedule-forward");
static constexpr sy_export exports[] = {sy::export_schedule<Forward>()};
SY_DEFINE_PLUGIN("schedule-forward", "0.1.0", exports)
