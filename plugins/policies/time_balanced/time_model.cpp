#include "time_model.hpp"

#include <algorithm>
#include <set>
#include <string>

namespace sy::place {
namespace {

/// For each cut what the nearest layer before it makes for those behind it: this is what they wait for. A skip's
/// tensor, made earlier, has had its time.
std::vector<double> hop_bytes(const sy_place& in) {
  std::vector<uint32_t> last_use(in.n_layers, 0);
  std::vector<double> bytes(in.n_layers, 0.0);
  for (uint32_t i = 0; i < in.n_layers; ++i)
    for (uint32_t k = 0; k < in.layers[i]->n_inputs; ++k) {
      const int32_t from = in.layers[i]->inputs[k];
      if (from < 0) continue;
      last_use[static_cast<std::size_t>(from)] = i;
      bytes[static_cast<std::size_t>(from)] = static_cast<double>(in.layers[i]->input_bytes[k]);
    }
  std::vector<double> hops(in.n_layers + 1, 0.0);
  std::vector<uint32_t> used;  // layers before the cut, the nearest one last
  for (uint32_t cut = 1; cut < in.n_layers; ++cut) {
    used.push_back(cut - 1);
    while (!used.empty() && last_use[used.back()] < cut) used.pop_back();
    if (!used.empty()) hops[cut] = bytes[used.back()];
  }
  return hops;
}

struct layer_seconds {
  double forward = 0, input = 0, weight = 0;
};
layer_seconds seconds_of(const sy_place& in, uint32_t layer, int32_t device) {
  layer_seconds s;
  check(in.seconds(in.self, layer, device, &s.forward, &s.input, &s.weight, nullptr), "the core did not tell a time");
  return s;
}

/// The first layer of each type, and the last one.
std::vector<uint32_t> probe_layers(const sy_place& in) {
  std::set<std::string> seen;
  std::vector<uint32_t> layers;
  for (uint32_t i = 0; i < in.n_layers; ++i)
    if (seen.insert(in.layers[i]->type).second || i + 1 == in.n_layers) layers.push_back(i);
  return layers;
}

}  // namespace

time_model::time_model(const sy_place& in) : in_(in), hop_bytes_(hop_bytes(in)) {
  const std::vector<uint32_t> layers = probe_layers(in);
  for (int32_t d = 0; d < static_cast<int32_t>(in.n_devices); ++d) {
    std::vector<double> probes{in.devices[d]->flops};
    for (const uint32_t l : layers) {
      const layer_seconds s = seconds_of(in, l, d);
      probes.insert(probes.end(), {s.forward, s.input, s.weight});
    }
    const auto like =
        std::find_if(kinds_.begin(), kinds_.end(), [&](const device_kind& k) { return k.probes == probes; });
    kind_of_.push_back(static_cast<std::size_t>(like - kinds_.begin()));
    if (like != kinds_.end()) continue;
    kinds_.push_back(summed(d));
    kinds_.back().probes = std::move(probes);
  }
}

time_model::device_kind time_model::summed(int32_t device) const {
  device_kind k{{}, {0.0}, {0.0}, {0.0}};
  for (uint32_t i = 0; i < in_.n_layers; ++i) {
    const layer_seconds s = seconds_of(in_, i, device);
    const uint32_t recompute = in_.layers[i]->recompute;
    const double again = recompute == SY_RECOMPUTE_ALWAYS ? s.forward : 0;
    k.forward.push_back(k.forward.back() + s.forward);
    k.all.push_back(k.all.back() + s.forward + s.input + s.weight + again);
    k.recompute.push_back(k.recompute.back() + (recompute == SY_RECOMPUTE_FREE ? s.forward : 0));
  }
  return k;
}

double time_model::hop(int32_t cut, int32_t from, int32_t to) const {
  double bytes_per_s = 0, latency_s = 0;
  check(in_.link(in_.self, from, to, &bytes_per_s, &latency_s, nullptr), "the core did not tell a link");
  return latency_s + hop_bytes_[static_cast<std::size_t>(cut)] / bytes_per_s;
}

}  // namespace sy::place
