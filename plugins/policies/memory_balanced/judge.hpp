// Asks the core what a split costs, and remembers the best two.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "memory_model.hpp"
#include "split.hpp"

namespace sy::place {

struct verdict {
  split what;
  double ratio = 0;       // largest peak / budget
  std::size_t stage = 0;  // whose device that is
  bool fits = false;
  int32_t misfit_layer = -1;
  uint64_t misfit_bytes = 0;
  double step_s = 0;
  std::vector<uint64_t> peak;  // bytes per device
};

/// What fits goes first, then the smaller ratio, then more stages, then the shorter step, then the smaller split.
bool is_better(const verdict& a, const verdict& b);

class judge {
 public:
  judge(const sy_place& in, std::vector<double> budgets) : in_(in), budgets_(std::move(budgets)) {}

  /// The core's judgement; asked once for each split. Lent until the judge is gone.
  const verdict& ask(const split& what);
  const verdict* best() const { return best_; }
  const verdict* second() const { return second_; }
  double budget(int32_t device) const { return budgets_[static_cast<std::size_t>(device)]; }
  std::size_t asked() const { return known_.size(); }

 private:
  const sy_place& in_;
  std::vector<double> budgets_;
  std::map<split, verdict> known_;
  const verdict *best_ = nullptr, *second_ = nullptr;
};

}  // namespace sy::place
