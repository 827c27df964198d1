// Moves cuts to where the estimate falls.
#pragma once

#include "goal.hpp"

namespace sy::place {

/// Moves one cut after the other, by far and by near, then two neighbouring ones at once by a few layers, as long as
/// the goal's estimate falls. Splits of more than 64 stages stay as they are.
void descend(int32_t layers, const goal& goal, const in_flight& flight, split& what);

}  // namespace sy::place
