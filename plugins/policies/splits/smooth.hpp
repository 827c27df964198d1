// Evens out the stages of a split.
#pragma once

#include "goal.hpp"

namespace sy::place {

/// Moves each cut to where the larger load of its two stages is smallest, until nothing changes. Never raises the
/// bottleneck.
void smooth(int32_t layers, const goal& goal, const in_flight& flight, split& what);

}  // namespace sy::place
