#include "enumeration.hpp"

#include <algorithm>

#include "pins.hpp"

namespace sy::place {
namespace {

struct candidate {
  split what;
  double estimate = 0;  // as 1F1B would run it
};

class generator {
 public:
  generator(const sy_place& in, const goal& goal, const std::vector<device_class>& classes, std::size_t most_stages)
      : layers_(static_cast<int32_t>(in.n_layers)),
        goal_(goal),
        classes_(classes),
        most_stages_(most_stages),
        pins_(in),
        flight_(as_1f1b(most_stages, in.micro_batches)),
        used_(classes.size(), 0) {}

  std::vector<candidate> all() {
    extend(0);
    std::stable_sort(found_.begin(), found_.end(),
                     [](const candidate& a, const candidate& b) { return a.estimate < b.estimate; });
    return std::move(found_);
  }

 private:
  /// Adds every stage that can follow, then what can follow that.
  void extend(int32_t first) {
    if (first == layers_) {
      found_.push_back({now_, goal_.estimate(now_, flight_)});
      return;
    }
    if (now_.stages() == most_stages_) return;
    for (std::size_t c = 0; c < classes_.size(); ++c) {
      if (used_[c] == classes_[c].devices.size()) continue;
      const int32_t device = classes_[c].devices[used_[c]++];
      now_.first.push_back(first);
      now_.device.push_back(device);
      for (int32_t end = first + 1; end <= layers_ && pins_.allow(first, end, device); ++end) extend(end);
      now_.first.pop_back();
      now_.device.pop_back();
      --used_[c];
    }
  }

  int32_t layers_;
  const goal& goal_;
  const std::vector<device_class>& classes_;
  std::size_t most_stages_;
  pins pins_;
  in_flight flight_;
  std::vector<std::size_t> used_;  // devices of each class
  split now_;
  std::vector<candidate> found_;
};

}  // namespace

std::vector<double> count_of_orders(std::size_t most_stages, const std::vector<device_class>& classes) {
  // Classes are added one by one; there are C(i + j, j) ways to put j devices of one class among i of the others.
  std::vector<double> orders{1};
  for (const device_class& c : classes) {
    std::vector<double> more(std::min(orders.size() + c.devices.size(), most_stages + 1), 0);
    for (std::size_t i = 0; i < orders.size(); ++i) {
      double ways = 1;
      for (std::size_t j = 0; j <= c.devices.size() && i + j < more.size(); ++j) {
        more[i + j] += orders[i] * ways;
        ways *= static_cast<double>(i + j + 1) / static_cast<double>(j + 1);
      }
    }
    orders = std::move(more);
  }
  return orders;
}

double count_of_splits(int32_t layers, std::size_t most_stages, const std::vector<device_class>& classes) {
  const std::vector<double> orders = count_of_orders(most_stages, classes);
  double total = 0, cuts = 1;  // cuts: C(layers - 1, k - 1)
  for (std::size_t k = 1; k < orders.size() && static_cast<int32_t>(k) <= layers; ++k) {
    total += orders[k] * cuts;
    cuts *= static_cast<double>(layers - static_cast<int32_t>(k)) / static_cast<double>(k);
  }
  return total;
}

bool can_enumerate(const sy_place& in, std::size_t most_stages, const std::vector<device_class>& classes) {
  const double most = is_recompute_free(in) ? 10000 : 50000;  // layers in all splits together
  return count_of_splits(static_cast<int32_t>(in.n_layers), most_stages, classes) * in.n_layers <= most;
}

void enumerate(const sy_place& in, const goal& goal, const std::vector<device_class>& classes, std::size_t most_stages,
               judge& judge) {
  for (const candidate& c : generator(in, goal, classes, most_stages).all())
    if (judge.second() == nullptr || !goal.is_ruled_out(c.what, *judge.second())) judge.ask(c.what);
}

}  // namespace sy::place
