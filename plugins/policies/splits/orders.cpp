#include "orders.hpp"

#include <algorithm>
#include <utility>

#include "descend.hpp"
#include "enumeration.hpp"
#include "smooth.hpp"

namespace sy::place {
namespace {

/// Calls body(devices) for every sequence of 1 .. most devices; of a class the lowest is taken first.
template <class Body>
void for_every_order(const std::vector<device_class>& classes, std::vector<std::size_t>& used,
                     std::vector<int32_t>& now, std::size_t most, const Body& body) {
  if (!now.empty()) body(now);
  if (now.size() == most) return;
  for (std::size_t c = 0; c < classes.size(); ++c) {
    if (used[c] == classes[c].devices.size()) continue;
    now.push_back(classes[c].devices[used[c]++]);
    for_every_order(classes, used, now, most, body);
    now.pop_back();
    --used[c];
  }
}

split evened(int32_t layers, const goal& goal, const in_flight& flight, const std::vector<int32_t>& devices) {
  split s{{}, devices};
  for (std::size_t k = 0; k < devices.size(); ++k)
    s.first.push_back(static_cast<int32_t>(k * static_cast<std::size_t>(layers) / devices.size()));
  smooth(layers, goal, flight, s);
  descend(layers, goal, flight, s);
  return s;
}

}  // namespace

std::vector<split> best_orders(const sy_place& in, const goal& goal, const in_flight& flight,
                               const std::vector<worth>& worths, std::size_t most_stages, std::size_t most) {
  if (in.n_devices > most_devices_enumerated) return {};
  const std::vector<device_class> classes = exact_classes(in, worths);
  double count = 0;
  for (const double n : count_of_orders(most_stages, classes)) count += n;
  if (count > 100) return {};
  const auto layers = static_cast<int32_t>(in.n_layers);
  std::vector<std::pair<double, split>> ranked;
  std::vector<std::size_t> used(classes.size(), 0);
  std::vector<int32_t> now;
  for_every_order(classes, used, now, most_stages, [&](const std::vector<int32_t>& devices) {
    split s = evened(layers, goal, flight, devices);
    if (largest_load(goal, s, flight, layers) < impossible) ranked.emplace_back(goal.estimate(s, flight), std::move(s));
  });
  std::sort(ranked.begin(), ranked.end());
  std::vector<split> best;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) best.push_back(std::move(ranked[i].second));
  return best;
}

}  // namespace sy::place
