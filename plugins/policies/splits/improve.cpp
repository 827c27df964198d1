#include "improve.hpp"

#include <algorithm>
#include <utility>

#include "descend.hpp"
#include "smooth.hpp"

namespace sy::place {
namespace {

bool is_possible(const sy_place& in, const goal& goal, const in_flight& flight, const split& what) {
  return largest_load(goal, what, flight, static_cast<int32_t>(in.n_layers)) < impossible;
}

/// Splits that differ from `what` in one cut; of many stages only the cuts beside `stage` are moved.
std::vector<split> moved_cuts(const sy_place& in, const split& what, std::size_t stage) {
  std::vector<split> all;
  const auto move = [&](std::size_t cut, int32_t by) {
    split moved = what;
    moved.first[cut] += by;
    if (moved.first[cut] <= moved.first[cut - 1]) return;
    if (moved.first[cut] < moved.end(cut, static_cast<int32_t>(in.n_layers))) all.push_back(std::move(moved));
  };
  const bool few = what.stages() <= 64;
  for (std::size_t cut = few ? 1 : std::max<std::size_t>(stage, 1);
       cut < (few ? what.stages() : std::min(stage + 2, what.stages())); ++cut)
    for (const int32_t by : {-4, -2, -1, 1, 2, 4}) move(cut, by);
  return all;
}

/// Splits in which the bottleneck's device changes places with another, the cuts evened out anew.
std::vector<split> exchanges(const sy_place& in, const goal& goal, const in_flight& flight, const verdict& v) {
  std::vector<split> all;
  const int32_t mine = v.what.device[goal.bottleneck(v)];
  for (int32_t other = 0; other < static_cast<int32_t>(std::min(in.n_devices, 64u)); ++other) {
    if (other == mine) continue;
    split changed = v.what;
    for (int32_t& d : changed.device) d = d == mine ? other : d == other ? mine : d;
    if (!is_possible(in, goal, flight, changed)) continue;
    smooth(static_cast<int32_t>(in.n_layers), goal, flight, changed);
    descend(static_cast<int32_t>(in.n_layers), goal, flight, changed);
    all.push_back(std::move(changed));
  }
  return all;
}

/// Asks for the `most` of the smallest estimates.
void ask_best(const sy_place& in, const goal& goal, const in_flight& flight, std::vector<split> candidates,
              std::size_t most, judge& judge) {
  std::vector<std::pair<double, split>> ranked;
  for (split& s : candidates)
    if (is_possible(in, goal, flight, s)) ranked.emplace_back(goal.estimate(s, flight), std::move(s));
  std::sort(ranked.begin(), ranked.end());
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) judge.ask(ranked[i].second);
}

}  // namespace

std::size_t most_judgements(const sy_place& in) {
  const double actions = in.n_layers + 2.0 * std::min(in.n_devices, in.n_layers) * in.micro_batches;
  return static_cast<std::size_t>(std::clamp(60000 / actions, 4.0, 56.0));
}

in_flight explained(const sy_place& in, const memory_model& model, const judge& judge, const verdict& v,
                    std::size_t stages) {
  const std::vector<uint64_t> peaks = v.recomputed > 0 ? judge.without_recompute(v.what).peak : v.peak;
  const double micro_batches = in.micro_batches;
  in_flight flight;
  for (std::size_t i = 0; i < v.what.stages(); ++i) {
    const std::size_t s = v.what.stages() - 1 - i;
    const int32_t first = v.what.first[s], end = v.what.end(s, model.layers());
    const double peak = static_cast<double>(peaks[static_cast<std::size_t>(v.what.device[s])]);
    const double kept = model.kept(first, end), rest = peak - model.fixed(first, end) - model.spike(first, end);
    flight.push_back(kept > 0 ? std::clamp(rest / kept, 0.0, 4 * micro_batches)
                              : std::min(static_cast<double>(i + 1), micro_batches));
  }
  while (flight.size() < stages)
    flight.push_back(std::max(flight.back(), std::min(static_cast<double>(flight.size() + 1), micro_batches)));
  return flight;
}

void improve(const sy_place& in, const goal& goal, const memory_model& memory, judge& judge, std::size_t most_asked) {
  const auto left = [&](std::size_t most) { return std::min(most, most_asked - std::min(most_asked, judge.asked())); };
  const verdict* at = nullptr;
  while (at != judge.best() && left(1) > 0) {
    at = judge.best();
    const in_flight flight = explained(in, memory, judge, *at, at->what.stages());
    ask_best(in, goal, flight, moved_cuts(in, at->what, goal.bottleneck(*at)), left(6), judge);
    if (at != judge.best()) continue;
    ask_best(in, goal, flight, exchanges(in, goal, flight, *at), left(6), judge);
  }
}

}  // namespace sy::place
