#include "orders.hpp"

#include <algorithm>
#include <utility>

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

split evened(const memory_model& model, const judge& judge, const in_flight& flight,
             const std::vector<int32_t>& devices) {
  split s{{}, devices};
  for (std::size_t k = 0; k < devices.size(); ++k)
    s.first.push_back(static_cast<int32_t>(k * static_cast<std::size_t>(model.layers()) / devices.size()));
  smooth(model, judge, flight, s);
  return s;
}

/// The largest share of a budget by the model; nothing respects the pins: infinite.
double bottleneck_of(const memory_model& model, const judge& judge, const in_flight& flight, const split& what) {
  double largest = 0;
  for (std::size_t s = 0; s < what.stages(); ++s) {
    const int32_t first = what.first[s], end = what.end(s, model.layers());
    if (!model.may_hold(first, end, what.device[s])) return 1e300;
    const double in_flight_here = flight_at(flight, what.stages() - 1 - s);
    largest = std::max(largest, model.bytes(first, end, in_flight_here) / judge.budget(what.device[s]));
  }
  return largest;
}

}  // namespace

std::vector<double> count_of_orders(std::size_t most_stages, const std::vector<device_class>& classes) {
  // Classes are added one by one; there are C(i + j, j) ways to put j devices of one class among i of the others.
  std::vector<double> orders{1};
  for (const device_class& c : classes) {
    std::vector<double> more(std::min(orders.size() + c.devices.size(), most_stages + 1), 0);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      double ways = 1;
      for (std::size_t j = 0; j <= c.devices.size() && i + j < more.size(); ++j) {
        more[i + j] += orders[i] * ways;
        ways *= static_cast<double>(i + j + 1) / static_cast<double>(j + 1);
      }
    }
    orders = std::move(more);
  }
  return orders;
}

std::vector<split> best_orders(const sy_place& in, const memory_model& model, const judge& judge,
                               const in_flight& flight, std::size_t most_stages, std::size_t most) {
  std::vector<double> budgets;
  for (uint32_t d = 0; d < in.n_devices; ++d) budgets.push_back(judge.budget(static_cast<int32_t>(d)));
  const std::vector<device_class> classes = classes_of(in, budgets, 0);
  double count = 0;
  for (const double n : count_of_orders(most_stages, classes)) count += n;
  if (count > 100) return {};
  std::vector<std::pair<double, split>> ranked;
  std::vector<std::size_t> used(classes.size(), 0);
  std::vector<int32_t> now;
  for_every_order(classes, used, now, most_stages, [&](const std::vector<int32_t>& devices) {
    split s = evened(model, judge, flight, devices);
    const double bottleneck = bottleneck_of(model, judge, flight, s);
    if (bottleneck < 1e300) ranked.emplace_back(bottleneck, std::move(s));
  });
  std::sort(ranked.begin(), ranked.end());
  std::vector<split> best;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) best.push_back(std::move(ranked[i].second));
  return best;
}

}  // namespace sy::place
