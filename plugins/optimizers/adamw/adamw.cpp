// Adam with decoupled weight decay.

#include "../adam_rule.hpp"

namespace {

struct AdamW {
  static constexpr const char* id = "adamw";
  static constexpr const char* help =
      "Adam with decoupled weight decay: each step scales weights by 1 - lr * weight_decay";
  static constexpr const char* weight_decay = "0.01";
  static constexpr const char* decay_help = "times the learning rate: the share of a weight that a step takes away";
  static constexpr bool decoupled = true;
};

}  // namespace

SY_PLUGIN_NOTE("optimizer-adamw");
static constexpr sy_export exports[] = {sy::export_optimizer<sy::opt::adam_like<AdamW>>()};
SY_DEFINE_PLUGIN("optimizer-adamw", "0.1.0", exports)
