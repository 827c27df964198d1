// my_policy: neighbouring layers in equal runs, one run for each device.
#include <switchyard/cpp/plugin.hpp>

namespace {

struct Policy {
  static constexpr const char* id = "my_policy";
  static constexpr const char* help = "equal runs of neighbouring layers, one for each device";
  explicit Policy(const sy::config&) {}

  void place(const sy_place& in, sy_placed& out) const {
    out.n_stages = 0;  // a stage is a run of layers on one device
    for (uint32_t i = 0; i < in.n_layers; ++i) {
      int32_t device = static_cast<int32_t>(i * in.n_devices / in.n_layers);
      if (in.layers[i]->pin >= 0) device = in.layers[i]->pin;  // the user fixed it
      if (i == 0 || device != out.device_of_stage[out.n_stages - 1]) out.device_of_stage[out.n_stages++] = device;
      out.stage_of_layer[i] = static_cast<int32_t>(out.n_stages - 1);
    }
    sy::host()->text_add(out.why, "as many layers on each device");
  }
};

}  // namespace

SY_PLUGIN_NOTE("my_policy");
static constexpr sy_export exports[] = {sy::export_policy<Policy>()};
SY_DEFINE_PLUGIN("my_policy", "0.1", exports)
