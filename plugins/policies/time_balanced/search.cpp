#include "search.hpp"

#include <algorithm>
#include <utility>

#include "../splits/bottleneck.hpp"
#include "../splits/descend.hpp"
#include "../splits/improve.hpp"
#include "../splits/orders.hpp"

namespace sy::place {
namespace {

/// All of 1 .. most, or about a dozen of them, denser towards the many.
std::vector<std::size_t> stage_counts(std::size_t most) {
  std::vector<std::size_t> counts;
  for (std::size_t k = most; k > 0; k = most <= 16 ? k - 1 : k * 2 / 3) counts.push_back(k);
  return counts;
}

/// For each number of stages the lightest bottleneck, and from there down; the shortest estimate first.
std::vector<split> candidates(int32_t layers, const bottleneck_search& bottleneck, const goal& goal,
                              const in_flight& flight, std::size_t most_stages) {
  std::vector<std::pair<double, split>> ranked;
  for (const std::size_t k : stage_counts(most_stages))
    if (std::optional<split> s = bottleneck.exactly(k, flight)) {
      descend(layers, goal, flight, *s);
      const double estimate = goal.estimate(*s, flight);
      ranked.emplace_back(estimate, std::move(*s));
    }
  std::sort(ranked.begin(), ranked.end());
  std::vector<split> all;
  for (auto& [estimate, s] : ranked) all.push_back(std::move(s));
  return all;
}

}  // namespace

void search(const sy_place& in, const memory_model& memory, const time_goal& goal, const std::vector<worth>& worths,
            std::size_t most_stages, judge& judge) {
  const std::size_t most_asked = most_judgements(in);
  const bottleneck_search bottleneck(memory.layers(), goal,
                                     coarse_classes(in, worths, std::max(512.0, 4.0 * (in.n_devices + 1))), worths);
  in_flight flight = as_1f1b(most_stages, in.micro_batches);
  for (std::size_t round = 0; round < 3 && judge.asked() < most_asked; ++round) {
    const std::size_t asked = judge.asked();
    const std::vector<split> found = candidates(memory.layers(), bottleneck, goal, flight, most_stages);
    if (found.empty()) throw fault(SY_E_CONFIG, "the devices that layers are fixed to allow no contiguous placement");
    for (std::size_t i = 0; i < std::min(found.size(), std::max<std::size_t>(1, most_asked / 8)); ++i)
      judge.ask(found[i]);
    if (judge.asked() == asked) break;
    flight = explained(in, memory, judge, *judge.best(), most_stages);
  }
  // Few devices: the model's error between orders of devices is worth a look at the most promising ones.
  for (const split& order : best_orders(in, goal, flight, worths, most_stages, most_asked / 3))
    if (judge.asked() < most_asked) judge.ask(order);
  improve(in, goal, memory, judge, most_asked);
}

}  // namespace sy::place
