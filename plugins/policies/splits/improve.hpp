// From the best split so far to better ones beside it.
#pragma once

#include "judge.hpp"

namespace sy::place {

/// How many judgements a search may ask for: 56 for small models, few where each one simulates very much.
std::size_t most_judgements(const sy_place& in);

/// The micro-batches in flight that would explain the peaks of a judged split; beyond its stages as 1F1B goes on.
/// `model`: without free layers recomputed.
in_flight explained(const sy_place& in, const memory_model& model, const judge& judge, const verdict& v,
                    std::size_t stages);

/// Moves cuts of the best split and exchanges its bottleneck's device for others, the most promising first, until
/// nothing is better or `most_asked` judgements were made.
void improve(const sy_place& in, const goal& goal, const memory_model& memory, judge& judge, std::size_t most_asked);

}  // namespace sy::place
