#include "memory_model.hpp"

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

bool is_recompute_free(const sy_place& in) {
  return std::any_of(in.layers, in.layers + in.n_layers,
                     [](const sy_place_layer* l) { return l->recompute == SY_RECOMPUTE_FREE; });
}

memory_model::memory_model(const sy_place& in, bool free_too) {
  fixed_ = kept_ = certain_ = {0.0};
  std::vector<double> spikes;
  std::set<int32_t> counted;
  for (uint32_t i = 0; i < in.n_layers; ++i) {
    const sy_place_layer& l = *in.layers[i];
    const double own =
        static_cast<double>(l.bytes_weights) + static_cast<double>(l.bytes_grads) + static_cast<double>(l.bytes_states);
    const bool recomputed = l.recompute == SY_RECOMPUTE_ALWAYS || (free_too && l.recompute == SY_RECOMPUTE_FREE);
    fixed_.push_back(fixed_.back() + own);
    certain_.push_back(certain_.back() + (l.tie >= 0 ? 0 : own));
    kept_.push_back(kept_.back() + kept_by(in, i, recomputed, counted));
    spikes.push_back(spike_of(l));
  }
  spike_ = range_max(std::move(spikes));
}

in_flight as_1f1b(std::size_t stages, uint32_t micro_batches) {
  in_flight flight;
  for (std::size_t i = 0; i < stages; ++i)
    flight.push_back(static_cast<double>(std::min<std::size_t>(i + 1, micro_batches)));
  return flight;
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

}  // namespace sy::place
