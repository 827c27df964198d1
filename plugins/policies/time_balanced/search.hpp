// Large models: bottleneck search for several numbers of stages, corrected by what the core simulates.
#pragma once

#include "../splits/device_class.hpp"
#include "../splits/judge.hpp"
#include "time_goal.hpp"

namespace sy::place {

/// Finds the split of the lightest bottleneck for each of several numbers of stages, asks the judge about those with
/// the shortest estimated steps, learns from their peaks how many micro-batches are in flight, and looks around the
/// best. The judge then knows the best. SY_E_CONFIG: no contiguous split respects the pins.
void search(const sy_place& in, const memory_model& memory, const time_goal& goal, const std::vector<worth>& worths,
            std::size_t most_stages, judge& judge);

}  // namespace sy::place
