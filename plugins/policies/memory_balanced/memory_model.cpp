#include "memory_model.hpp"

#include <algorithm>
#include <set>

namespace sy::place {
namespace {

constexpr auto no_budget = UINT64_MAX;

/// What the layer keeps for one micro-batch, each tensor counted at its first keeper.
double kept_by(const sy_place& in, uint32_t layer, bool recomputed, std::set<int32_t>& counted) {
  const sy_place_layer& l = *in.layers[layer];
  double bytes = recomputed ? 0 : static_cast<double>(l.cost->bytes_saved);
  for (uint32_t i = 0; i < l.n_inputs; ++i) {
    const bool keeps = recomputed || (i < 64 && (l.cost->keep_in >> i & 1) != 0);
    if (keeps && counted.insert(l.inputs[i]).second) bytes += static_cast<double>(l.input_bytes[i]);
  }
  if (!recomputed && l.cost->keep_out != 0 && counted.insert(static_cast<int32_t>(layer)).second)
    bytes += static_cast<double>(l.bytes_outputs);
  return bytes;
}

double spike_of(const sy_place_layer& l) {
  const sy_cost& c = *l.cost;
  double bytes = static_cast<double>(l.bytes_outputs) +
                 static_cast<double>(std::max(c.bytes_workspace, c.bytes_workspace_backward));
  for (uint32_t i = 0; i < l.n_inputs; ++i) bytes += static_cast<double>(l.input_bytes[i]);
  return bytes;
}

}  // namespace

memory_model::memory_model(const sy_place& in, const uint8_t* recompute) {
  fixed_ = kept_ = certain_ = {0.0};
  std::set<int32_t> counted;
  for (uint32_t i = 0; i < in.n_layers; ++i) {
    const sy_place_layer& l = *in.layers[i];
    const double own =
        static_cast<double>(l.bytes_weights) + static_cast<double>(l.bytes_grads) + static_cast<double>(l.bytes_states);
    fixed_.push_back(fixed_.back() + own);
    certain_.push_back(certain_.back() + (l.tie >= 0 ? 0 : own));
    kept_.push_back(kept_.back() + kept_by(in, i, recompute != nullptr && recompute[i] != 0, counted));
    spike_.push_back(spike_of(l));
    pin_.push_back(l.pin);
  }
}

double memory_model::largest_spike(int32_t first, int32_t end) const {
  double largest = 0;
  for (int32_t i = first; i < end; ++i) largest = std::max(largest, spike(i));
  return largest;
}

bool memory_model::may_hold(int32_t first, int32_t end, int32_t device) const {
  for (int32_t i = first; i < end; ++i)
    if (pin(i) >= 0 && pin(i) != device) return false;
  return true;
}

std::vector<double> comparable_budgets(const sy_place& in) {
  uint64_t largest = 0;
  for (uint32_t d = 0; d < in.n_devices; ++d)
    if (in.devices[d]->budget != no_budget) largest = std::max(largest, in.devices[d]->budget);
  std::vector<double> budgets;
  for (uint32_t d = 0; d < in.n_devices; ++d) {
    const uint64_t own = in.devices[d]->budget == no_budget ? largest : in.devices[d]->budget;
    budgets.push_back(static_cast<double>(std::max<uint64_t>(own, 1)));
  }
  return budgets;
}

std::vector<device_class> classes_of(const sy_place& in, std::span<const double> budgets, double tolerance) {
  std::set<int32_t> pinned;
  for (uint32_t i = 0; i < in.n_layers; ++i) pinned.insert(in.layers[i]->pin);
  std::vector<int32_t> order;
  for (uint32_t d = 0; d < in.n_devices; ++d) order.push_back(static_cast<int32_t>(d));
  const auto budget = [&](int32_t d) { return budgets[static_cast<std::size_t>(d)]; };
  std::stable_sort(order.begin(), order.end(), [&](int32_t a, int32_t b) { return budget(a) > budget(b); });
  std::vector<device_class> classes;
  double largest = 0;  // budget of the open class's first device
  for (const int32_t d : order) {
    if (pinned.count(d) > 0) {
      classes.push_back({budget(d), {d}});
      largest = 0;
    } else if (!classes.empty() && largest > 0 && budget(d) * (1 + tolerance) >= largest) {
      classes.back().budget = budget(d);
      classes.back().devices.push_back(d);
    } else {
      classes.push_back({budget(d), {d}});
      largest = budget(d);
    }
  }
  for (device_class& c : classes) std::sort(c.devices.begin(), c.devices.end());
  return classes;
}

}  // namespace sy::place
