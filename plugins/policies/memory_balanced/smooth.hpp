// Evens out the stages of a split, by the additive model.
#pragma once

#include <algorithm>
#include <vector>

#include "judge.hpp"

namespace sy::place {

/// Micro-batches in flight on the last stage, the last but one, ...; the last number holds for all before it.
using in_flight = std::vector<double>;

inline double flight_at(const in_flight& flight, std::size_t from_end) {
  return flight[std::min(from_end, flight.size() - 1)];
}

/// Moves each cut to where the larger share of its two stages is smallest, until nothing changes. Never raises the
/// bottleneck.
void smooth(const memory_model& model, const judge& judge, const in_flight& flight, split& what);

}  // namespace sy::place
