// Checkpoints of a run. In the run folder:
//
//     checkpoint -> checkpoints/step-000200          a link that is switched in one step
//     checkpoints/step-000100/{model,optimizer}.safetensors
//     checkpoints/step-000200/{model,optimizer}.safetensors
//     checkpoints/partial-...                        a save (or a removal) that is going on, or was cut off
//
// A pair is written into a partial- folder, flushed, renamed to its step, and only then linked, so that checkpoint/ is
// a complete pair at every moment, also after kill -9 or a power cut.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "store/safetensors.hpp"

namespace switchyard {

struct CheckpointContent {
  std::vector<TensorSource> model;           // weights and buffers by their full names
  std::vector<TensorSource> optimizer;       // states, master copies
  std::map<std::string, std::string> state;  // seed, samples seen, loss scale, ...: the optimizer file's metadata
};

/// Saves `content` as the run's checkpoint of `step`, then removes all but the newest `keep` (at least 1) and whatever
/// an earlier save left behind. The key "step" is added to `state`; the model file holds weights only, so that equal
/// weights give equal files. Errors: those of write_safetensors, and SY_E_UNAVAILABLE while another save into this
/// folder goes on; the earlier checkpoint is then still in place and what was written is removed.
void save_checkpoint(const std::string& run_folder, std::int64_t step, const CheckpointContent& content, int keep);

/// A complete pair on the disk.
struct CheckpointPaths {
  std::string folder;
  std::string model;
  std::string optimizer;
  std::vector<std::string> notes;  // one line for each partial save that was ignored
};

/// The checkpoint of a run folder: what `checkpoint` points to, else the newest complete pair. Nothing: there is none.
std::optional<CheckpointPaths> find_checkpoint(const std::string& run_folder);

/// An opened pair.
struct Checkpoint {
  CheckpointPaths paths;
  SafetensorsFile model;
  SafetensorsFile optimizer;
  std::int64_t step = 0;
  const std::map<std::string, std::string>& state() const { return optimizer.metadata(); }
};

/// Opens the checkpoint of a run folder. Errors: SY_E_NOT_FOUND if it has none, SY_E_DATA for broken files.
Checkpoint open_checkpoint(const std::string& run_folder);

}  // namespace switchyard
