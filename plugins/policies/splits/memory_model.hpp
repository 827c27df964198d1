// An additive model of a stage's memory, to search with: the core's own judgement (sy_place.evaluate) decides in the
// end.
//
//   bytes(stage) = weights, gradients, states of its layers
//                + micro-batches in flight x what its layers keep from forward to backward
//                + the largest momentary need of one layer
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "range_max.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace sy::place {

/// Micro-batches in flight on the last stage, the last but one, ...; the last number holds for all before it.
using in_flight = std::vector<double>;

inline double flight_at(const in_flight& flight, std::size_t from_end) {
  return flight[std::min(from_end, flight.size() - 1)];
}

/// May some layer be recomputed where a budget asks for it?
bool is_recompute_free(const sy_place& in);

class memory_model {
 public:
  /// `free_too`: layers that are free to be recomputed are, else only those that the configuration names.
  memory_model(const sy_place& in, bool free_too);

  int32_t layers() const { return static_cast<int32_t>(spike_.size()); }
  /// Weights, gradients and states of layers first .. end - 1.
  double fixed(int32_t first, int32_t end) const { return at(fixed_, end) - at(fixed_, first); }
  /// Kept per micro-batch in flight.
  double kept(int32_t first, int32_t end) const { return at(kept_, end) - at(kept_, first); }
  /// The largest momentary need of one of the layers.
  double spike(int32_t first, int32_t end) const { return spike_.of(first, end); }
  double bytes(int32_t first, int32_t end, double in_flight) const {
    return fixed(first, end) + in_flight * kept(first, end) + spike(first, end);
  }
  /// No judgement can be below it: fixed() without the layers that share a weight.
  double at_least(int32_t first, int32_t end) const { return at(certain_, end) - at(certain_, first); }

 private:
  static double at(const std::vector<double>& sums, int32_t i) { return sums[static_cast<std::size_t>(i)]; }
  std::vector<double> fixed_, kept_, certain_;  // sums of the layers before i
  range_max spike_;
};

/// Under 1F1B the i-th stage from the end holds i + 1 micro-batches; under GPipe every stage holds all.
in_flight as_1f1b(std::size_t stages, uint32_t micro_batches);

/// Budgets to divide by. A device without one counts like the largest that was given; if none was given all count 1, so
/// that the largest peak itself is made small.
std::vector<double> comparable_budgets(const sy_place& in);

}  // namespace sy::place
