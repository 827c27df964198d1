#include "descend.hpp"

namespace sy::place {
namespace {

class descent {
 public:
  descent(int32_t layers, const goal& goal, const in_flight& flight, split& what)
      : layers_(layers), goal_(goal), flight_(flight), what_(what), now_(goal.estimate(what, flight)) {}

  /// True: something moved.
  bool single_cuts() {
    bool moved = false;
    for (std::size_t cut = 1; cut < what_.stages(); ++cut)
      for (int32_t by = layers_ / 2; by > 0; by /= 2)
        while (move(cut, by) || move(cut, -by)) moved = true;
    return moved;
  }
  bool pairs() {
    bool moved = false;
    for (std::size_t cut = 1; cut + 1 < what_.stages(); ++cut)
      for (int32_t a = -3; a <= 3; ++a)
        for (int32_t b = -3; b <= 3; ++b)
          if (a != 0 && b != 0) moved = move(cut, a, b) || moved;
    return moved;
  }

 private:
  /// Moves this cut, and the next one by `next`, if the estimate falls.
  bool move(std::size_t cut, int32_t by, int32_t next = 0) {
    change(cut, by, next);
    const bool possible = what_.first[cut] > what_.first[cut - 1] && what_.first[cut] < what_.end(cut, layers_) &&
                          (next == 0 || what_.first[cut + 1] < what_.end(cut + 1, layers_));
    const double moved = possible ? goal_.estimate(what_, flight_) : impossible;
    if (moved < now_ * (1 - 1e-12)) {
      now_ = moved;
      return true;
    }
    change(cut, -by, -next);
    return false;
  }
  void change(std::size_t cut, int32_t by, int32_t next) {
    what_.first[cut] += by;
    if (next != 0) what_.first[cut + 1] += next;
  }

  int32_t layers_;
  const goal& goal_;
  const in_flight& flight_;
  split& what_;
  double now_;
};

}  // namespace

void descend(int32_t layers, const goal& goal, const in_flight& flight, split& what) {
  if (what.stages() > 64) return;
  descent d(layers, goal, flight, what);
  for (int sweeps = 32; sweeps > 0 && (d.single_cuts() || d.pairs()); --sweeps) {
  }
}

}  // namespace sy::place
