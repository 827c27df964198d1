// The goal of memory_balanced: the largest share of a budget is as small as it can be, without recomputing if possible.
#pragma once

#include "../splits/goal.hpp"
#include "../splits/pins.hpp"

namespace sy::place {

class memory_goal : public goal {
 public:
  /// `budgets`: what bytes are divided by, per device. All is lent. `model`: with the free layers recomputed or
  /// without, whichever loads shall stand for.
  memory_goal(const sy_place& in, const memory_model& model, const std::vector<double>& budgets)
      : model_(model), budgets_(budgets), pins_(in) {}

  /// What fits goes first, and of that what need not recompute a free layer. Where recomputing is needed budgets are
  /// full anyway: the shorter step wins. Else, and then, the smaller share, more stages, the shorter step, the smaller
  /// split.
  bool is_better(const verdict& a, const verdict& b) const override;
  /// Share of the budget.
  double load(int32_t first, int32_t end, int32_t device, double in_flight) const override {
    return pins_.allow(first, end, device) ? model_.bytes(first, end, in_flight) / budget(device) : impossible;
  }
  double estimate(const split& what, const in_flight& flight) const override {
    return largest_load(*this, what, flight, model_.layers());
  }
  bool is_ruled_out(const split& what, const verdict& verdict) const override;
  std::size_t bottleneck(const verdict& v) const override { return v.stage; }

 private:
  double budget(int32_t device) const { return budgets_[static_cast<std::size_t>(device)]; }

  const memory_model& model_;
  const std::vector<double>& budgets_;
  pins pins_;
};

}  // namespace sy::place
