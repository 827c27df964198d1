#include "smooth.hpp"

#include <algorithm>

namespace sy::place {
namespace {

/// Two neighbouring stages that together hold the layers first .. end - 1.
struct neighbours {
  const goal& wanted;
  int32_t first, end;
  int32_t left_device, right_device;
  double left_flight, right_flight;

  double left(int32_t cut) const { return wanted.load(first, cut, left_device, left_flight); }
  double right(int32_t cut) const { return wanted.load(cut, end, right_device, right_flight); }
  double larger(int32_t cut) const { return std::max(left(cut), right(cut)); }

  /// The left load grows with the cut and the right one falls: the best cut lies beside where they meet. `now` unless
  /// another is truly better.
  int32_t best_cut(int32_t now) const {
    int32_t low = first + 1, high = end - 1;  // the smallest cut whose left side is at least as heavy as the right one
    while (low < high) {
      const int32_t middle = low + (high - low) / 2;
      if (left(middle) >= right(middle))
        high = middle;
      else
        low = middle + 1;
    }
    int32_t best = now;
    for (const int32_t cut : {low - 1, low})
      if (cut > first && larger(cut) < larger(best) * (1 - 1e-12)) best = cut;
    return best;
  }
};

}  // namespace

void smooth(int32_t layers, const goal& goal, const in_flight& flight, split& what) {
  const std::size_t stages = what.stages();
  bool moved = true;
  for (int sweeps = 64; moved && sweeps > 0; --sweeps) {
    moved = false;
    for (std::size_t s = 0; s + 1 < stages; ++s) {
      const neighbours pair{goal,
                            what.first[s],
                            what.end(s + 1, layers),
                            what.device[s],
                            what.device[s + 1],
                            flight_at(flight, stages - 1 - s),
                            flight_at(flight, stages - 2 - s)};
      int32_t& cut = what.first[s + 1];
      const int32_t best = pair.best_cut(cut);
      moved = moved || best != cut;
      cut = best;
    }
  }
}

}  // namespace sy::place
