// An additive model of a stage's memory, to search with: the core's own judgement (sy_place.evaluate) decides in the
// end.
//
//   bytes(stage) = weights, gradients, states of its layers
//                + micro-batches in flight x what its layers keep from forward to backward
//                + the largest momentary need of one layer
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::place {

class memory_model {
 public:
  /// `recompute`: per layer as configured, or NULL.
  memory_model(const sy_place& in, const uint8_t* recompute);

  int32_t layers() const { return static_cast<int32_t>(spike_.size()); }
  /// Weights, gradients and states of layers first .. end - 1.
  double fixed(int32_t first, int32_t end) const { return at(fixed_, end) - at(fixed_, first); }
  /// Kept per micro-batch in flight.
  double kept(int32_t first, int32_t end) const { return at(kept_, end) - at(kept_, first); }
  double spike(int32_t layer) const { return spike_[static_cast<std::size_t>(layer)]; }
  double largest_spike(int32_t first, int32_t end) const;
  double bytes(int32_t first, int32_t end, double in_flight) const {
    return fixed(first, end) + in_flight * kept(first, end) + largest_spike(first, end);
  }
  /// No judgement can be below it: fixed() without the layers that share a weight.
  double at_least(int32_t first, int32_t end) const { return at(certain_, end) - at(certain_, first); }
  /// -1, or the device that the user fixed.
  int32_t pin(int32_t layer) const { return pin_[static_cast<std::size_t>(layer)]; }
  bool may_hold(int32_t first, int32_t end, int32_t device) const;

 private:
  static double at(const std::vector<double>& sums, int32_t i) { return sums[static_cast<std::size_t>(i)]; }
  std::vector<double> fixed_, kept_, certain_;  // sums of the layers before i
  std::vector<double> spike_;
  std::vector<int32_t> pin_;
};

/// Budgets to divide by. A device without one counts like the largest that was given; if none was given all count 1, so
/// that the largest peak itself is made small.
std::vector<double> comparable_budgets(const sy_place& in);

/// Devices of one budget are interchangeable, except those that some layer is fixed to.
struct device_class {
  double budget = 0;             // of the smallest device in it
  std::vector<int32_t> devices;  // ascending index
};
/// Classes of devices whose budgets differ by at most the share `tolerance`, largest budget first.
std::vector<device_class> classes_of(const sy_place& in, std::span<const double> budgets, double tolerance);

}  // namespace sy::place
