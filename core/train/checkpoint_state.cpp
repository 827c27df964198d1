#include "train/checkpoint_state.hpp"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "train/weights.hpp"

namespace switchyard {
namespace {

/// Copies one tensor out piece by piece; it is read from the device once.
FillTensor fill_from_pipe(const Pipe& pipe, TensorName name, std::uint64_t bytes) {
  auto whole = std::make_shared<std::vector<std::byte>>();
  return [&pipe, name, bytes, whole](std::uint64_t offset, std::span<std::byte> to) {
    if (offset == 0 && to.size() == bytes) return pipe.read(name, to);
    if (offset == 0) {
      whole->resize(bytes);
      pipe.read(name, *whole);
    }
    std::memcpy(to.data(), whole->data() + offset, to.size());
    if (offset + to.size() == bytes) *whole = {};
  };
}

TensorSource source(const Pipe& pipe, const Parameter& p, TensorName name, const std::string& full_name) {
  const sy_dtype type = pipe.stored_dtype(name);
  const auto bytes = static_cast<std::uint64_t>(p.count()) * dtype_bytes(type);
  return {full_name, type, p.shape, fill_from_pipe(pipe, name, bytes)};
}

/// One state of one trained weight.
struct StateTensor {
  TensorName name;
  std::string full_name;
};

std::vector<StateTensor> state_tensors(const Model& model, const Plan& plan) {
  std::vector<StateTensor> states;
  for (const Parameter& p : model.parameters()) {
    if (!p.trainable || p.is_tied()) continue;
    for (std::size_t s = 0; s < plan.state_names.size(); ++s)
      states.push_back({{p.index, static_cast<int>(s)}, p.name + "." + plan.state_names[s]});
  }
  return states;
}

template <class Number>
std::string number_text(Number value) {
  char text[40];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

template <class Number>
Number number(const Checkpoint& checkpoint, const std::string& key) {
  Number value{};
  const auto found = checkpoint.state().find(key);
  const std::string text = found == checkpoint.state().end() ? "" : found->second;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size())
    throw Error(SY_E_DATA, Place{checkpoint.paths.optimizer, 0, 0}, "the metadata has no number '" + key + "'");
  return value;
}

std::string optimizer_of(const Checkpoint& checkpoint) {
  const auto found = checkpoint.state().find("optimizer");
  return found == checkpoint.state().end() ? "" : found->second;
}

/// The optimizer file has what this plan's optimizer keeps. More may be there: of weights that are frozen now.
void check_states(const Checkpoint& checkpoint, const Model& model, const std::vector<StateTensor>& states) {
  for (const StateTensor& state : states) {
    const Parameter& p = model.parameters()[state.name.parameter];
    const TensorInfo* found = checkpoint.optimizer.find(state.full_name);
    if (found && found->shape == p.shape && is_float(found->dtype)) continue;
    throw Error(
        SY_E_CONFIG, Place{checkpoint.paths.optimizer, 0, 0},
        (found ? "'" + state.full_name + "' does not fit the model"
               : "the checkpoint has no optimizer state '" + state.full_name + "'; it was trained with '" +
                     optimizer_of(checkpoint) + "'") +
            "; keep train.optimizer and what is trainable, or start anew from the weights: model.weights = { file "
            "= \"" +
            checkpoint.paths.model + "\" }");
  }
}

}  // namespace

CheckpointContent checkpoint_content(Pipe& pipe, const TrainState& state) {
  CheckpointContent content;
  for (const int index : saved_parameters(pipe.model())) {
    const Parameter& p = pipe.model().parameters()[index];
    content.model.push_back(source(pipe, p, {index, -1}, p.name));
  }
  for (const StateTensor& each : state_tensors(pipe.model(), pipe.plan()))
    content.optimizer.push_back(
        source(pipe, pipe.model().parameters()[each.name.parameter], each.name, each.full_name));
  content.state = {{"seed", number_text(state.seed)},
                   {"samples", number_text(state.samples)},
                   {"optimizer", state.optimizer},
                   {"applied_steps", number_text(pipe.applied_steps())}};
  if (pipe.loss_scale().is_dynamic()) {
    content.state["loss_scale"] = number_text(pipe.loss_scale().value());
    content.state["good_steps"] = number_text(pipe.loss_scale().good_steps());
  }
  return content;
}

TrainState restore_checkpoint(Pipe& pipe, const Checkpoint& checkpoint) {
  const TrainState state{checkpoint.step, number<std::int64_t>(checkpoint, "samples"),
                         number<std::int64_t>(checkpoint, "seed"), optimizer_of(checkpoint)};
  const auto applied = number<std::int64_t>(checkpoint, "applied_steps");
  LossScale scale = pipe.loss_scale();
  if (scale.is_dynamic() && checkpoint.state().contains("loss_scale"))
    scale.restore(number<double>(checkpoint, "loss_scale"), number<std::int64_t>(checkpoint, "good_steps"));
  const AssignedWeights weights = assign_checkpoint(pipe.model(), checkpoint.paths.model);
  const std::vector<StateTensor> states = state_tensors(pipe.model(), pipe.plan());
  check_states(checkpoint, pipe.model(), states);

  place_weights(pipe, weights);
  for (const StateTensor& each : states)
    pipe.write(each.name, read_tensor(checkpoint.optimizer, checkpoint.optimizer.at(each.full_name),
                                      pipe.stored_dtype(each.name)));
  pipe.set_applied_steps(applied);
  pipe.loss_scale() = scale;
  return state;
}

}  // namespace switchyard
