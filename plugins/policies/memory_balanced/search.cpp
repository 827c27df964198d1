#include "search.hpp"

#include <algorithm>

#include "../splits/bottleneck.hpp"
#include "../splits/improve.hpp"
#include "../splits/orders.hpp"

namespace sy::place {

namespace {

/// Asks about the best splits that loads of this goal lead to. `model`: without free layers recomputed.
void bottlenecks(const sy_place& in, const memory_model& model, const memory_goal& goal,
                 const std::vector<worth>& worths, std::size_t most_stages, judge& judge, std::size_t most_asked) {
  const bottleneck_search bottleneck(model.layers(), goal,
                                     coarse_classes(in, worths, std::max(512.0, 4.0 * (in.n_devices + 1))), worths);
  const auto ask = [&](const in_flight& flight) -> const verdict* {
    const std::optional<split> found = bottleneck.at_most(most_stages, flight);
    if (!found) throw fault(SY_E_CONFIG, "the devices that layers are fixed to allow no contiguous placement");
    return &judge.ask(*found);
  };
  const verdict* last = ask(as_1f1b(most_stages, in.micro_batches));
  for (int round = 0; round < 4 && judge.asked() < most_asked; ++round) {
    const std::size_t asked = judge.asked();
    last = ask(explained(in, model, judge, *last, most_stages));
    if (judge.asked() == asked) break;
  }
  if (judge.asked() < most_asked) ask(in_flight(1, in.micro_batches));
  // Few devices: the model's error between orders of devices is worth a look at the most promising ones.
  const in_flight flight = explained(in, model, judge, *judge.best(), most_stages);
  const std::size_t most_orders = (most_asked - std::min(most_asked, judge.asked()) + 1) / 2;
  for (const split& order : best_orders(in, goal, flight, worths, most_stages, most_orders))
    if (judge.asked() < most_asked) judge.ask(order);
  improve(in, goal, model, judge, most_asked);
}

}  // namespace

void search(const sy_place& in, const memory_model& model, const memory_goal& goal, const std::vector<double>& budgets,
            std::size_t most_stages, judge& judge) {
  std::vector<worth> worths;
  for (const double b : budgets) worths.push_back({b});
  const std::size_t most_asked = most_judgements(in);
  bottlenecks(in, model, goal, worths, most_stages, judge, most_asked);
  if (!is_recompute_free(in) || (judge.best()->fits && judge.best()->recomputed == 0)) return;
  const memory_model least(in, true);
  bottlenecks(in, model, memory_goal(in, least, budgets), worths, most_stages, judge, judge.asked() + most_asked);
}

}  // namespace sy::place
