#include "enumeration.hpp"

#include <algorithm>

#include "orders.hpp"

namespace sy::place {
namespace {

struct candidate {
  split what;
  double estimate = 0;  // largest share of a budget by the model, as 1F1B would run it
  double at_least = 0;  // the same from below, under any schedule
};

class generator {
 public:
  generator(const sy_place& in, const memory_model& model, std::size_t most_stages, const judge& judge)
      : in_(in), model_(model), judge_(judge), most_stages_(most_stages) {
    std::vector<double> budgets;
    for (uint32_t d = 0; d < in.n_devices; ++d) budgets.push_back(judge.budget(static_cast<int32_t>(d)));
    classes_ = classes_of(in, budgets, 0);
    used_.assign(classes_.size(), 0);
  }

  std::vector<candidate> all() {
    extend(0);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const candidate& a, const candidate& b) { return a.estimate < b.estimate; });
    return std::move(found_);
  }

 private:
  /// Adds every stage that can follow, then what can follow that.
  void extend(int32_t first) {
    const int32_t layers = model_.layers();
    if (first == layers) return finish();
    if (now_.stages() == most_stages_) return;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (used_[c] == classes_[c].devices.size()) continue;
      const int32_t device = classes_[c].devices[used_[c]++];
      now_.first.push_back(first);
      now_.device.push_back(device);
      for (int32_t end = first + 1; end <= layers && model_.may_hold(end - 1, end, device); ++end) extend(end);
      now_.first.pop_back();
      now_.device.pop_back();
      --used_[c];
    }
  }
  void finish() {
    candidate c{now_};
    for (std::size_t s = 0; s < now_.stages(); ++s) {
      const int32_t first = now_.first[s], end = now_.end(s, model_.layers());
      const auto in_flight = static_cast<double>(std::min<std::size_t>(now_.stages() - s, in_.micro_batches));
      const double budget = judge_.budget(now_.device[s]);
      c.estimate = std::max(c.estimate, model_.bytes(first, end, in_flight) / budget);
      c.at_least = std::max(c.at_least, model_.at_least(first, end) / budget);
    }
    found_.push_back(std::move(c));
  }

  const sy_place& in_;
  const memory_model& model_;
  const judge& judge_;
  std::size_t most_stages_;
  std::vector<device_class> classes_;
  std::vector<std::size_t> used_;
  split now_;
  std::vector<candidate> found_;
};

/// Neither the best nor the runner-up can come from a split whose lower bound is above the runner-up.
bool is_ruled_out(const candidate& c, const verdict* second) {
  return second != nullptr && c.at_least > second->ratio && (second->fits || c.at_least > 1);
}

}  // namespace

double count_of_splits(int32_t layers, std::size_t most_stages, const std::vector<device_class>& classes) {
  const std::vector<double> orders = count_of_orders(most_stages, classes);
  double total = 0, cuts = 1;  // cuts: C(layers - 1, k - 1)
  for (std::size_t k = 1; k < orders.size() && static_cast<int32_t>(k) <= layers; ++k) {
    total += orders[k] * cuts;
    cuts *= static_cast<double>(layers - static_cast<int32_t>(k)) / static_cast<double>(k);
  }
  return total;
}

void enumerate(const sy_place& in, const memory_model& model, std::size_t most_stages, judge& judge) {
  for (const candidate& c : generator(in, model, most_stages, judge).all())
    if (!is_ruled_out(c, judge.second())) judge.ask(c.what);
}

}  // namespace sy::place
