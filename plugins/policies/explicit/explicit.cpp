// Every layer on the device that the user wrote down. Neighbours on one device are one stage, so a device may hold
// several.

#include <string>
#include <vector>

#include "../stages.hpp"

namespace {

struct Explicit {
  static constexpr const char* id = "explicit";
  static constexpr const char* help =
      "each layer where the table says: \"h.*\" = \"cuda:0\"; goal: what the user wants";

  explicit Explicit(const sy::config&) {}

  void place(const sy_place& in, sy_placed& out) const {
    sy::place::expect_something(in);
    std::vector<int32_t> device;
    std::string missing;
    uint32_t n_missing = 0;
    for (uint32_t i = 0; i < in.n_layers; ++i) {
      device.push_back(in.layers[i]->pin);
      if (device[i] >= 0) continue;
      missing += (missing.empty() ? "" : ", ") + sy::place::layer_text(in, i);
      ++n_missing;
    }
    if (n_missing > 0)
      throw sy::fault(SY_E_CONFIG, sy::place::counted(n_missing, "layer") + " without a device: " + missing +
                                       "; name them in [placement.explicit], or add \"*\" = \"" + in.devices[0]->name +
                                       "\"");
    const uint32_t stages = sy::place::write_stages(in, device, out);
    sy::place::say(out, "as written: " + sy::place::counted(stages, "stage"));
  }
};

}  // namespace

SY_PLUGIN_NOTE("policy-explicit");
static constexpr sy_export exports[] = {sy::export_policy<Explicit>()};
SY_DEFINE_PLUGIN("policy-explicit", "0.1.0", exports)
