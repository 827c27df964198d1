// Large models: bottleneck search by the additive model, corrected by what the core measures.
#pragma once

#include "../splits/judge.hpp"
#include "memory_goal.hpp"

namespace sy::place {

/// Searches, asks the judge, learns from the peaks how many micro-batches are in flight on each stage, searches again;
/// then moves cuts and exchanges devices. Where nothing fits as it is and layers may be recomputed, once more with
/// loads as if all were. The judge then knows the best. SY_E_CONFIG: no contiguous split respects the pins.
void search(const sy_place& in, const memory_model& model, const memory_goal& goal, const std::vector<double>& budgets,
            std::size_t most_stages, judge& judge);

}  // namespace sy::place
