// Large models: bottleneck search by the additive model, corrected by what the core measures.
#pragma once

#include "judge.hpp"

namespace sy::place {

/// Searches, asks the judge, learns from the peaks how many micro-batches are in flight on each stage, searches again;
/// then tries to move the bottleneck's cuts one by one. The judge then knows the best. SY_E_CONFIG: no contiguous split
/// respects the pins.
void search(const sy_place& in, const memory_model& model, std::size_t most_stages, judge& judge);

}  // namespace sy::place
