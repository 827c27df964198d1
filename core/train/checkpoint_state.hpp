// What a checkpoint holds of a pipe, so that any plan can go on from it bit for bit.
//
//   model.safetensors       every weight that is not tied as fp32 (the master value where there is one), every buffer
//   in its
//                           own type, by full name
//   optimizer.safetensors   NAME.STATE as fp32 for each trained weight; metadata: the counters below
#pragma once

#include <cstdint>
#include <string>

#include "engine/pipe.hpp"
#include "store/checkpoint.hpp"

namespace switchyard {

/// What is counted beside the tensors.
struct TrainState {
  std::int64_t step = 0;     // optimizer steps done, skipped ones included
  std::int64_t samples = 0;  // learnt from in them
  std::int64_t seed = 0;     // that drew the first weights and orders the samples
  std::string optimizer;     // its name
};

/// The content for save_checkpoint. It reads from `pipe` tensor by tensor while it is written: at most two tensors are
/// in host memory. `pipe` must live and rest until then. [ctl]
CheckpointContent checkpoint_content(Pipe& pipe, const TrainState& state);

/// Puts a checkpoint's weights, states, applied steps and loss scale into `pipe` and gives the counters. Everything is
/// checked before anything is written. Errors: SY_E_CONFIG listing what does not fit the model, or naming the state
/// that another optimizer would have written; SY_E_DATA for broken metadata. [ctl]
TrainState restore_checkpoint(Pipe& pipe, const Checkpoint& checkpoint);

}  // namespace switchyard
