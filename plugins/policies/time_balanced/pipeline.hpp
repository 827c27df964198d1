// One pass through a pipeline, far quicker than a simulation of devices, edges and actions.
#pragma once

#include <cstdint>
#include <vector>

namespace sy::place {

struct pipeline_stage {
  double forward, backward;  // seconds of one micro-batch
  double hop;                // to the next stage, and as long back from it
};

/// Seconds until the last backward of the first stage, every stage on a device of its own. `all_forward_first`: as
/// GPipe; else as 1F1B, with at most stages - s micro-batches in flight on stage s. Time grows with stages x
/// micro-batches.
double pipeline_seconds(const std::vector<pipeline_stage>& stages, std::size_t micro_batches, bool all_forward_first);

/// About the same in a time that grows with the stages: the first micro-batch through all stages, all others behind it
/// in the distance that the slowest stage, or the way to the end and back, allows.
double rough_pipeline_seconds(const std::vector<pipeline_stage>& stages, std::size_t micro_batches);

}  // namespace sy::place
