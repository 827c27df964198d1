#include "train/weights.hpp"

#include <algorithm>
#include <utility>

#include "base/dtype.hpp"

namespace switchyard {
namespace {

WeightMap weight_map(const WeightsConfig& weights) {
  WeightMap map;
  for (const RenameRule& rule : weights.rename) map.rename.emplace_back(rule.from, rule.to);
  map.allow_unused = weights.allow_unused;
  for (const Pattern& pattern : weights.allow_unused_patterns) map.unused.push_back(pattern.text());
  return map;
}

/// Files of models with tied weights often hold the table twice.
void check_aliases(const Model& model, const AssignedWeights& assigned, const Place& place) {
  ErrorList errors;
  for (const Parameter& p : model.parameters()) {
    if (!p.is_tied()) continue;
    const std::string& owner_name = model.parameters()[p.owner].name;
    const auto alias = assigned.tensors.find(p.name), owner = assigned.tensors.find(owner_name);
    if (alias == assigned.tensors.end() || owner == assigned.tensors.end()) continue;
    const auto bytes_of = [](const TensorPlace& at) { return at.file->bytes(*at.tensor); };
    if (!std::ranges::equal(bytes_of(alias->second), bytes_of(owner->second)))
      errors.add(place, "'" + p.name + "' is tied to '" + owner_name +
                            "', but the file holds other values for it; leave tied_to out to train both");
  }
  errors.raise();
}

}  // namespace

std::vector<int> saved_parameters(const Model& model) {
  std::vector<int> saved;
  for (const Parameter& p : model.parameters())
    if (!p.is_tied() && (p.kind == SY_WEIGHT || p.kind == SY_BUFFER)) saved.push_back(p.index);
  return saved;
}

std::vector<WantedTensor> wanted_tensors(const Model& model, bool aliases) {
  std::vector<WantedTensor> wanted;
  for (const int index : saved_parameters(model)) {
    const Parameter& p = model.parameters()[index];
    wanted.push_back({p.name, p.shape, p.dtype, false});
  }
  for (const Parameter& p : model.parameters())
    if (aliases && p.is_tied()) wanted.push_back({p.name, p.shape, p.dtype, true});
  return wanted;
}

AssignedWeights assign_weights(const Model& model, const WeightsConfig& weights) {
  AssignedWeights assigned;
  try {
    assigned.files = TensorFiles::open(weights.file.text);
  } catch (const Error& e) {
    throw Error(e.code(), weights.file.place, std::string("model.weights: ") + e.what());
  }
  assigned.tensors = assign_weights(assigned.files, wanted_tensors(model, true), weight_map(weights), weights.place);
  check_aliases(model, assigned, weights.place);
  return assigned;
}

AssignedWeights assign_checkpoint(const Model& model, const std::string& model_file) {
  AssignedWeights assigned{TensorFiles::open(model_file), {}};
  assigned.tensors = assign_weights(assigned.files, wanted_tensors(model, false), {}, Place{model_file, 0, 0});
  return assigned;
}

void place_weights(Pipe& pipe, const AssignedWeights& assigned) {
  for (const int index : saved_parameters(pipe.model())) {
    const auto found = assigned.tensors.find(pipe.model().parameters()[index].name);
    if (found == assigned.tensors.end()) continue;  // one that only counts
    const TensorName name{index, -1};
    pipe.write(name, read_tensor(*found->second.file, *found->second.tensor, pipe.stored_dtype(name)));
  }
  pipe.values_changed();
}

std::vector<std::byte> read_tensor(const SafetensorsFile& file, const TensorInfo& tensor, sy_dtype as) {
  const auto count = static_cast<std::size_t>(element_count(tensor.shape));
  std::vector<std::byte> bytes(count * dtype_bytes(as));
  convert(file.bytes(tensor).data(), tensor.dtype, bytes.data(), as, count);
  file.release(tensor);
  return bytes;
}

}  // namespace switchyard
