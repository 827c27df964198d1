// Adam with the weight decay added to the gradient.

#include "../adam_rule.hpp"

namespace {

struct Adam {
  static constexpr const char* id = "adam";
  static constexpr const char* help = "Adam; weight decay is added to the gradient";
  static constexpr const char* weight_decay = "0.0";
  static constexpr const char* decay_help = "times the weight, added to its gradient";
  static constexpr bool decoupled = false;
};

}  // namespace

SY_PLUGIN_NOTE("optimizer-adam");
static constexpr sy_export exports[] = {sy::export_optimizer<sy::opt::adam_like<Adam>>()};
SY_DEFINE_PLUGIN("optimizer-adam", "0.1.0", exports)
