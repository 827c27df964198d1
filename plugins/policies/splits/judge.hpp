// Asks the core what a split costs, and remembers the best two.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "goal.hpp"

namespace sy::place {

class judge {
 public:
  /// `budgets`: what peaks are divided by, per device. Goal and question are lent as long as the judge lives.
  judge(const sy_place& in, const goal& goal, std::vector<double> budgets)
      : in_(in), goal_(goal), budgets_(std::move(budgets)) {}

  /// The core's judgement; asked once for each split. Lent until the judge is gone.
  const verdict& ask(const split& what);
  const verdict* best() const { return best_; }
  const verdict* second() const { return second_; }
  /// Without recomputing free layers, whether it fits or not.
  struct plain {
    std::vector<uint64_t> peak;  // bytes per device
    double step_s = 0;
  };
  plain without_recompute(const split& what) const;
  /// Of the splits that do not fit the one with the shortest step; nullptr: all fit.
  const verdict* shortest_misfit() const { return shortest_misfit_; }
  double budget(int32_t device) const { return budgets_[static_cast<std::size_t>(device)]; }
  std::size_t asked() const { return known_.size(); }

 private:
  verdict judged(const split& what) const;
  void evaluate(const split& what, const uint8_t* recompute, sy_evaluation& out) const;

  const sy_place& in_;
  const goal& goal_;
  std::vector<double> budgets_;
  std::map<split, verdict> known_;
  const verdict *best_ = nullptr, *second_ = nullptr, *shortest_misfit_ = nullptr;
};

}  // namespace sy::place
