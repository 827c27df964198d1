#include "search.hpp"

#include <algorithm>

#include "bottleneck.hpp"
#include "orders.hpp"

namespace sy::place {
namespace {

/// Classes coarse enough for the search's table: budgets that differ little count as one, more and more until it is
/// small.
std::vector<device_class> coarse_classes(const sy_place& in, const judge& judge) {
  std::vector<double> budgets;
  for (uint32_t d = 0; d < in.n_devices; ++d) budgets.push_back(judge.budget(static_cast<int32_t>(d)));
  const double most = std::max(512.0, 4.0 * (in.n_devices + 1));
  for (double tolerance = 0;; tolerance = tolerance > 0 ? 2 * tolerance : 0.005) {
    std::vector<device_class> classes = classes_of(in, budgets, tolerance);
    double size = 1;
    for (const device_class& c : classes) size *= static_cast<double>(c.devices.size() + 1);
    if (size <= most || tolerance > 1e6) return classes;
  }
}

/// Under 1F1B the i-th stage from the end holds i + 1 micro-batches, under GPipe every stage holds all.
in_flight as_1f1b(std::size_t stages, double micro_batches) {
  in_flight flight;
  for (std::size_t i = 0; i < stages; ++i) flight.push_back(std::min(static_cast<double>(i + 1), micro_batches));
  return flight;
}

/// The micro-batches in flight that would explain the measured peaks; beyond the measured stages as 1F1B goes on.
in_flight explained(const memory_model& model, const verdict& v, std::size_t stages, double micro_batches) {
  in_flight flight;
  for (std::size_t i = 0; i < v.what.stages(); ++i) {
    const std::size_t s = v.what.stages() - 1 - i;
    const int32_t first = v.what.first[s], end = v.what.end(s, model.layers());
    const double peak = static_cast<double>(v.peak[static_cast<std::size_t>(v.what.device[s])]);
    const double kept = model.kept(first, end), rest = peak - model.fixed(first, end) - model.largest_spike(first, end);
    flight.push_back(kept > 0 ? std::clamp(rest / kept, 0.0, 4 * micro_batches)
                              : std::min(static_cast<double>(i + 1), micro_batches));
  }
  while (flight.size() < stages)
    flight.push_back(std::max(flight.back(), std::min(static_cast<double>(flight.size() + 1), micro_batches)));
  return flight;
}

/// Splits that differ from `v` in one cut beside its bottleneck.
std::vector<split> neighbours(const memory_model& model, const verdict& v) {
  std::vector<split> all;
  const auto try_cut = [&](std::size_t cut, int32_t by) {
    split moved = v.what;
    moved.first[cut] += by;
    const int32_t before = moved.first[cut - 1], end = moved.end(cut, model.layers());
    if (moved.first[cut] <= before || moved.first[cut] >= end) return;
    if (!model.may_hold(before, moved.first[cut], moved.device[cut - 1])) return;
    if (model.may_hold(moved.first[cut], end, moved.device[cut])) all.push_back(moved);
  };
  for (const int32_t by : {1, 2}) {
    if (v.stage > 0) try_cut(v.stage, by);
    if (v.stage + 1 < v.what.stages()) try_cut(v.stage + 1, -by);
  }
  return all;
}

/// Splits in which the bottleneck's device changes places with another of a different budget, the cuts evened out anew.
std::vector<split> exchanges(const sy_place& in, const memory_model& model, const judge& judge, const in_flight& flight,
                             const verdict& v) {
  std::vector<split> all;
  const int32_t mine = v.what.device[v.stage];
  for (int32_t other = 0; other < static_cast<int32_t>(in.n_devices); ++other) {
    if (judge.budget(other) == judge.budget(mine)) continue;
    split changed = v.what;
    for (int32_t& d : changed.device) d = d == mine ? other : d == other ? mine : d;
    bool allowed = true;
    for (std::size_t s = 0; s < changed.stages(); ++s)
      allowed = allowed && model.may_hold(changed.first[s], changed.end(s, model.layers()), changed.device[s]);
    if (!allowed) continue;
    smooth(model, judge, flight, changed);
    all.push_back(std::move(changed));
  }
  return all;
}

/// Takes the best of what lies around the best, until that is nothing new or most_asked judgements were made.
void improve(const sy_place& in, const memory_model& model, judge& judge, std::size_t most_asked) {
  const verdict* at = nullptr;
  while (at != judge.best() && judge.asked() < most_asked) {
    at = judge.best();
    for (const split& next : neighbours(model, *at)) judge.ask(next);
    if (at != judge.best()) continue;
    const in_flight flight = explained(model, *at, at->what.stages(), in.micro_batches);
    for (const split& next : exchanges(in, model, judge, flight, *at)) judge.ask(next);
  }
}

}  // namespace

void search(const sy_place& in, const memory_model& model, std::size_t most_stages, judge& judge) {
  const double micro_batches = in.micro_batches;
  const bottleneck_search bottleneck(model, coarse_classes(in, judge), most_stages);
  const auto ask = [&](const in_flight& flight) -> const verdict* {
    const std::optional<split> found = bottleneck.best(flight, judge);
    if (!found) throw fault(SY_E_CONFIG, "the devices that layers are fixed to allow no contiguous placement");
    return &judge.ask(*found);
  };
  const verdict* last = ask(as_1f1b(most_stages, micro_batches));
  ask(in_flight(1, micro_batches));
  for (int round = 0; round < 4; ++round) {
    const std::size_t asked = judge.asked();
    last = ask(explained(model, *last, most_stages, micro_batches));
    if (judge.asked() == asked) break;
  }
  // Few devices: the model's error between orders of devices is worth a look at the most promising ones.
  const in_flight flight = explained(model, *judge.best(), most_stages, micro_batches);
  for (const split& order : best_orders(in, model, judge, flight, most_stages, 24)) judge.ask(order);
  improve(in, model, judge, 56);
}

}  // namespace sy::place
