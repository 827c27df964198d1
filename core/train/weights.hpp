// Weights and buffers by name: which of a file's tensors go into which of the model's, and into a pipe.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "engine/pipe.hpp"
#include "model/model.hpp"
#include "store/rename.hpp"

namespace switchyard {

/// What a file of the model's tensors holds: every weight that is not tied, and every buffer, in the model's order. A
/// tied one (`aliases`) may be there too.
std::vector<WantedTensor> wanted_tensors(const Model& model, bool aliases);
/// Indices of those parameters: their values are saved.
std::vector<int> saved_parameters(const Model& model);

/// A file's tensors by our names. Movable; the places point into `files`.
struct AssignedWeights {
  TensorFiles files;
  std::map<std::string, TensorPlace> tensors;
};

/// Errors: SY_E_CONFIG at the table's place, listing every tensor that is left over, missing, wrongly shaped or typed;
/// a tied weight that the file has too must hold the owner's values.
AssignedWeights assign_weights(const Model& model, const WeightsConfig& weights);
/// The same for the model file of a checkpoint: nothing is renamed, nothing may be left over.
AssignedWeights assign_checkpoint(const Model& model, const std::string& model_file);

/// Writes them into the pipe, one tensor at a time, and spreads them (Pipe::values_changed). [ctl]
void place_weights(Pipe& pipe, const AssignedWeights& assigned);

/// One tensor of a file in another element type; the file's pages are let go.
std::vector<std::byte> read_tensor(const SafetensorsFile& file, const TensorInfo& tensor, sy_dtype as);

}  // namespace switchyard
