#include "smooth.hpp"

#include <limits>

namespace sy::place {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

struct side {
  int32_t device;
  double flight, budget;
};

/// The share of its budget that the stage [first, first + 1), [first, first + 2), ... takes on this side.
std::vector<double> growing_right(const memory_model& m, int32_t first, int32_t end, const side& s) {
  std::vector<double> share;
  double spike = 0;
  for (int32_t i = first; i < end; ++i) {
    spike = m.may_hold(i, i + 1, s.device) ? std::max(spike, m.spike(i)) : infinity;
    share.push_back((m.fixed(first, i + 1) + s.flight * m.kept(first, i + 1) + spike) / s.budget);
  }
  return share;
}
/// The same of [first, end), [first + 1, end), ...
std::vector<double> shrinking_left(const memory_model& m, int32_t first, int32_t end, const side& s) {
  std::vector<double> share(static_cast<std::size_t>(end - first));
  double spike = 0;
  for (int32_t i = end; i-- > first;) {
    spike = m.may_hold(i, i + 1, s.device) ? std::max(spike, m.spike(i)) : infinity;
    share[static_cast<std::size_t>(i - first)] = (m.fixed(i, end) + s.flight * m.kept(i, end) + spike) / s.budget;
  }
  return share;
}

/// The best cut between two stages that together hold layers first .. end - 1; `now` unless another is truly better.
int32_t best_cut(const memory_model& m, int32_t first, int32_t now, int32_t end, const side& left, const side& right) {
  const std::vector<double> before = growing_right(m, first, end, left), behind = shrinking_left(m, first, end, right);
  const auto larger = [&](int32_t cut) {
    const auto at = static_cast<std::size_t>(cut - first);
    return std::max(before[at - 1], behind[at]);
  };
  int32_t best = now;
  for (int32_t cut = first + 1; cut < end; ++cut)
    if (larger(cut) < larger(best) * (1 - 1e-12)) best = cut;
  return best;
}

}  // namespace

void smooth(const memory_model& model, const judge& judge, const in_flight& flight, split& what) {
  const std::size_t stages = what.stages();
  const auto side_of = [&](std::size_t s) {
    return side{what.device[s], flight_at(flight, stages - 1 - s), judge.budget(what.device[s])};
  };
  bool moved = true;
  for (int sweeps = 64; moved && sweeps > 0; --sweeps) {
    moved = false;
    for (std::size_t s = 0; s + 1 < stages; ++s) {
      int32_t& cut = what.first[s + 1];
      const int32_t best =
          best_cut(model, what.first[s], cut, what.end(s + 1, model.layers()), side_of(s), side_of(s + 1));
      moved = moved || best != cut;
      cut = best;
    }
  }
}

}  // namespace sy::place
