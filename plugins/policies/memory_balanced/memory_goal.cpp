#include "memory_goal.hpp"

#include <algorithm>

namespace sy::place {

bool memory_goal::is_better(const verdict& a, const verdict& b) const {
  if (a.fits != b.fits) return a.fits;
  if (a.fits && (a.recomputed == 0) != (b.recomputed == 0)) return a.recomputed == 0;
  if (a.fits && a.recomputed > 0 && a.step_s != b.step_s) return a.step_s < b.step_s;
  if (a.ratio != b.ratio) return a.ratio < b.ratio;
  if (a.what.stages() != b.what.stages()) return a.what.stages() > b.what.stages();
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  return a.what < b.what;
}

bool memory_goal::is_ruled_out(const split& what, const verdict& verdict) const {
  double at_least = 0;  // share of a budget, under any schedule
  for (std::size_t s = 0; s < what.stages(); ++s)
    at_least =
        std::max(at_least, model_.at_least(what.first[s], what.end(s, model_.layers())) / budget(what.device[s]));
  if (verdict.fits && verdict.recomputed > 0) return at_least > 1;
  return at_least > verdict.ratio && (verdict.fits || at_least > 1);
}

}  // namespace sy::place
