// Small models: every contiguous split is looked at, so that the answer is the optimum under any schedule.
#pragma once

#include "judge.hpp"

namespace sy::place {

/// How many splits there are (up to interchangeable devices) of `layers` layers into at most `most_stages` stages.
double count_of_splits(int32_t layers, std::size_t most_stages, const std::vector<device_class>& classes);

/// Puts every split before the judge that a lower bound does not rule out; the judge then knows the best two.
void enumerate(const sy_place& in, const memory_model& model, std::size_t most_stages, judge& judge);

}  // namespace sy::place
