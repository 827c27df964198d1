#include "engine/stage.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "engine/call.hpp"
#include "plugin/host.hpp"

namespace switchyard {

struct StageRunner::EdgePort {
  int edge = 0;
  int number = 0;  // of the value or gradient that travels
};

struct StageRunner::LocalLayer {
  const Layer* layer = nullptr;
  bool recompute = false;
  std::vector<int> inputs;                 // values
  std::vector<int> outputs;                // values
  std::vector<std::vector<int>> arriving;  // per output: gradients of its uses, the last use first
  std::vector<int> gradients;              // per input: the gradient that it makes, or -1
};

/// Everything alive of one micro-batch between its F and the end of its B.
struct StageRunner::MicroBatch {
  const MicroBatchInput* input = nullptr;
  std::vector<Tensor> values;
  std::vector<int> uses_left;
  std::vector<Tensor> gradients;
  std::vector<sy_saved*> saved;           // per layer of the stage
  std::vector<std::vector<Tensor>> kept;  // per layer: inputs of a recomputed one
};

StageRunner::StageRunner(const Model& model, const Plan& plan, const Stage& stage, const Device& device,
                         Recorder& recorder, std::vector<std::unique_ptr<EdgeLink>>& links)
    : model_(model), stage_(stage), device_(device), recorder_(recorder), plan_devices_(plan.devices), links_(links) {
  for (int l = stage.first; l <= stage.last; ++l) {
    LocalLayer local;
    local.layer = &model.layers()[l];
    local.recompute = plan.recompute[l];
    layers_.push_back(std::move(local));
  }
  compile_values(plan);
  compile_gradients(plan);
}

StageRunner::~StageRunner() { abandon(); }

int StageRunner::value_number(int layer, int output) {
  const auto found = std::find(values_.begin(), values_.end(), std::pair(layer, output));
  if (found != values_.end()) return static_cast<int>(found - values_.begin());
  values_.emplace_back(layer, output);
  forward_uses_.push_back(0);
  return static_cast<int>(values_.size()) - 1;
}

int StageRunner::gradient_number(int layer, int slot) {
  const auto found = std::find(gradients_.begin(), gradients_.end(), std::pair(layer, slot));
  if (found != gradients_.end()) return static_cast<int>(found - gradients_.begin());
  gradients_.emplace_back(layer, slot);
  return static_cast<int>(gradients_.size()) - 1;
}

void StageRunner::compile_values(const Plan& plan) {
  for (LocalLayer& local : layers_) {
    for (const Source& from : local.layer->inputs) {
      const int value = from.layer >= 0 ? value_number(from.layer, from.output) : value_number(-1, from.targets);
      local.inputs.push_back(value);
      ++forward_uses_[value];
    }
    for (std::size_t o = 0; o < local.layer->uses.size(); ++o)
      local.outputs.push_back(value_number(local.layer->index, static_cast<int>(o)));
  }
  for (const Edge& e : plan.edges) {
    if (e.backward) continue;
    if (e.to == stage_.index) in_.push_back({e.index, value_number(e.layer, e.output)});
    if (e.from != stage_.index) continue;
    out_.push_back({e.index, value_number(e.layer, e.output)});
    ++forward_uses_[out_.back().number];
  }
}

void StageRunner::compile_gradients(const Plan& plan) {
  for (LocalLayer& local : layers_) {
    const Layer& layer = *local.layer;
    for (const auto& uses : layer.uses) {
      std::vector<int> numbers;
      for (auto use = uses.rbegin(); use != uses.rend(); ++use)
        if (model_.layers()[use->layer].wants[use->slot]) numbers.push_back(gradient_number(use->layer, use->slot));
      local.arriving.push_back(std::move(numbers));
    }
    for (std::size_t i = 0; i < layer.inputs.size(); ++i)
      local.gradients.push_back(layer.wants[i] ? gradient_number(layer.index, static_cast<int>(i)) : -1);
  }
  for (const Edge& e : plan.edges) {
    if (!e.backward) continue;
    if (e.to == stage_.index) gradients_in_.push_back({e.index, gradient_number(e.use.layer, e.use.slot)});
    if (e.from == stage_.index) gradients_out_.push_back({e.index, gradient_number(e.use.layer, e.use.slot)});
  }
}

void StageRunner::bind(const std::vector<Stored>& stored) {
  for (const LocalLayer& local : layers_) {
    std::vector<const sy_view*> values, gradients;
    for (const int p : local.layer->parameters) {
      values.push_back(&stored[p].value.get());
      gradients.push_back(stored[p].gradient ? &stored[p].gradient->get() : nullptr);
    }
    sy_binding binding{};
    binding.size = sizeof(binding);
    binding.n_params = static_cast<uint32_t>(values.size());
    binding.values = values.data();
    binding.grads = gradients.data();
    binding.device = device_.id();
    binding.origin = device_.account();
    binding.threads = device_.threads();
    in_layer(*local.layer, stage_, device_, -1, [&] {
      call_plugin([&](sy_error** e) { return local.layer->api->bind(local.layer->handle, &binding, e); });
    });
  }
}

void StageRunner::run(const Action& action, StepContext& context, int micro_batch) {
  try {
    act(action, context, micro_batch);
  } catch (const Error& e) {
    if (e.note("stage")) throw;  // of a layer; else of a copy between layers
    Error full(e.code(), "stage " + std::to_string(stage_.index) + " on " + device_.name() + ", micro-batch " +
                             std::to_string(micro_batch) + ": " + e.what());
    for (const auto& [key, value] : e.notes()) full.note(key, value);
    full.note("stage", std::to_string(stage_.index)).note("device", device_.name());
    throw full.note("micro_batch", std::to_string(micro_batch));
  }
}

void StageRunner::act(const Action& action, StepContext& context, int micro_batch) {
  switch (action.kind) {
    case SY_ACT_F:
      return forward(context, micro_batch);
    case SY_ACT_B:
      return backward(context, micro_batch, false);
    case SY_ACT_I:
      return backward(context, micro_batch, true);
    case SY_ACT_W:
      return backward_weight(context, micro_batch);
    case SY_ACT_R:  // replay happens inside the backward of each recomputed layer
      recorder_.begin_action(SY_ACT_R, stage_.index, micro_batch);
      return recorder_.end_action();
  }
}

StageRunner::MicroBatch& StageRunner::micro_batch(int number) {
  if (static_cast<std::size_t>(number) >= in_flight_.size()) in_flight_.resize(number + 1);
  auto& slot = in_flight_[number];
  if (!slot) {
    slot = std::make_unique<MicroBatch>();
    slot->values.resize(values_.size());
    slot->uses_left = forward_uses_;
    slot->gradients.resize(gradients_.size());
    slot->saved.resize(layers_.size());
    slot->kept.resize(layers_.size());
  }
  return *slot;
}

Tensor StageRunner::batch_tensor(const StepContext& context, const MicroBatchInput& input, bool targets) {
  const HostTensor& from = targets ? *context.targets : *context.inputs;
  Shape shape = from.shape();
  shape[0] = input.rows.count;
  char* first = reinterpret_cast<char*>(const_cast<std::byte*>(targets ? context.target_bytes : context.input_bytes)) +
                static_cast<std::size_t>(input.rows.first) * from.row_bytes();
  const OwnedView rows(first, {SY_DEVICE_CPU, 0}, from.dtype(), shape);
  Tensor here = device_.copy(rows.get());
  return !targets && is_float(from.dtype()) ? device_.cast(here, model_.run_type()) : here;
}

void StageRunner::read_batch(const StepContext& context, MicroBatch& m) {
  for (std::size_t v = 0; v < values_.size(); ++v)
    if (values_[v].first < 0 && forward_uses_[v] > 0 && (values_[v].second == 0 || context.targets))
      m.values[v] = context.loan->use([&] { return batch_tensor(context, *m.input, values_[v].second == 1); });
}

namespace {

/// Will a backward follow?
bool keeps(const StepContext& context) { return context.kind == SY_TRAIN && !context.checks_finite; }

}  // namespace

void StageRunner::forward(StepContext& context, int number) {
  MicroBatch& m = micro_batch(number);
  m.input = &context.micro_batches[number];
  for (const EdgePort& port : in_) m.values[port.number] = links_[port.edge]->take();
  recorder_.begin_action(SY_ACT_F, stage_.index, number);
  read_batch(context, m);
  for (LocalLayer& layer : layers_) {
    if (context.stop->load()) throw Stopped();
    forward_layer(layer, context, m);
  }
  recorder_.end_action();
  for (const EdgePort& port : out_) {
    links_[port.edge]->send(m.values[port.number], number, recorder_);
    if (--m.uses_left[port.number] == 0) m.values[port.number].reset();
  }
  if (!keeps(context)) in_flight_[number].reset();
}

/// Float inputs of a kept layer are cast to fp32; everything else is handed on as it is.
std::vector<Tensor> StageRunner::seen_inputs(const LocalLayer& local, const std::vector<Tensor>& values) const {
  std::vector<Tensor> seen;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool casts = local.layer->kept && !local.layer->inputs[i].targets && is_float(values[i].view().dtype);
    seen.push_back(casts ? device_.cast(values[i], local.layer->compute) : values[i]);
  }
  return seen;
}

void StageRunner::forward_layer(LocalLayer& local, StepContext& context, MicroBatch& m) {
  const std::size_t at = static_cast<std::size_t>(local.layer->index - stage_.first);
  std::vector<Tensor> inputs;
  for (const int v : local.inputs)
    if (m.values[v]) inputs.push_back(m.values[v]);
  const uint32_t no_save = !keeps(context) || local.recompute ? uint32_t{SY_CALL_NO_SAVE} : 0u;
  std::vector<Tensor> outputs = call_forward(local, context, m, inputs, no_save);
  if (local.layer->is_loss())
    context.results[m.input->number] = std::move(outputs[0]);
  else
    for (std::size_t o = 0; o < outputs.size(); ++o)
      if (m.uses_left[local.outputs[o]] > 0) m.values[local.outputs[o]] = std::move(outputs[o]);
  if (keeps(context) && local.recompute) m.kept[at] = std::move(inputs);
  for (const int v : local.inputs)
    if (--m.uses_left[v] == 0) m.values[v].reset();
}

std::vector<Tensor> StageRunner::call_forward(LocalLayer& local, const StepContext& context, MicroBatch& m,
                                              const std::vector<Tensor>& inputs, uint32_t flags) {
  const Layer& layer = *local.layer;
  const std::size_t at = static_cast<std::size_t>(layer.index - stage_.first);
  std::vector<Tensor> outputs;
  in_layer(layer, stage_, device_, m.input->number, [&] {
    const std::vector<Tensor> seen = seen_inputs(local, inputs);
    std::vector<sy_tensor*> in, out(m.input->shapes->out[layer.index].size());
    for (const Tensor& t : seen) in.push_back(t.get());
    const uint64_t wants = want_bits(layer);
    sy_call call = make_call(context, *m.input, layer, device_, flags | context.flags);
    call.n_in = static_cast<uint32_t>(in.size()), call.in = in.data();
    call.n_out = static_cast<uint32_t>(out.size()), call.out = out.data();
    call.want = wants;
    sy_saved** saved = flags & SY_CALL_NO_SAVE ? nullptr : &m.saved[at];
    sy_saved* none = nullptr;
    OutputGuard guard(out);
    call_plugin([&](sy_error** e) { return layer.api->forward(layer.handle, &call, saved ? saved : &none, e); });
    if (none) layer.api->free_saved(layer.handle, none);  // it was told that no backward follows
    outputs = guard.take();
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      check_output(local, m.input->shapes->out[layer.index][o], outputs[o], "output " + std::to_string(o), context);
      outputs[o] = device_.contiguous(outputs[o]);
      if (context.checks_finite) check_finite(outputs[o], o);
      if (layer.kept && !layer.is_loss() && is_float(outputs[o].view().dtype))
        outputs[o] = device_.cast(outputs[o], model_.run_type());
    }
  });
  return outputs;
}

void StageRunner::check_output(const LocalLayer& local, const Port& expected, const Tensor& given,
                               const std::string& which, const StepContext& context) const {
  if (!given) throw Error(SY_E_INTERNAL, which + " was not given");
  const sy_view& v = given.view();
  if (!same_device(v.device, device_.id()))
    throw Error(SY_E_INTERNAL,
                which + " lies on another device: expected " + device_.name() + ", found " + device_text(v.device));
  const bool one_position = local.layer->is_loss() && context.flags & SY_CALL_LAST_POSITION;
  if (shape_of(v) != expected.shape && !one_position)
    throw Error(SY_E_INTERNAL, which + " has shape " + shape_text(shape_of(v)) + ", but " + shape_text(expected.shape) +
                                   " was declared");
  const sy_dtype wanted = local.layer->kept && is_float(expected.dtype) ? dtype::f32 : expected.dtype;
  if (!(v.dtype == wanted))
    throw Error(SY_E_INTERNAL, which + " is " + dtype_name(v.dtype) + ", but " + dtype_name(wanted) + " was declared");
}

void StageRunner::check_finite(const Tensor& given, std::size_t output) const {
  if (!is_float(given.view().dtype)) return;
  const std::optional<std::size_t> at = device_.find_non_finite(given.view());
  if (at)
    throw Error(SY_E_DATA, "output " + std::to_string(output) + " is not finite at element " + std::to_string(*at) +
                               ", the first layer where that is so; the step was dropped. Lower train.optimizer.lr, "
                               "or look at this layer's weights and inputs");
}

/// As the configuration writes it.
std::string StageRunner::device_text(sy_device device) const {
  for (const PlanDevice& d : plan_devices_)
    if (same_device(d.device, device)) return d.name;
  const std::string kind = device.type == SY_DEVICE_CPU    ? "cpu"
                           : device.type == SY_DEVICE_CUDA ? "cuda"
                                                           : "device type " + std::to_string(device.type);
  return kind + ":" + std::to_string(device.index);
}

void StageRunner::backward(StepContext& context, int number, bool input_only) {
  MicroBatch& m = micro_batch(number);
  for (const EdgePort& port : gradients_in_) m.gradients[port.number] = links_[port.edge]->take();
  recorder_.begin_action(input_only ? SY_ACT_I : SY_ACT_B, stage_.index, number);
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    if (context.stop->load()) throw Stopped();
    backward_layer(*layer, context, m, input_only && layer->layer->splits());
  }
  recorder_.end_action();
  for (const EdgePort& port : gradients_out_) {
    links_[port.edge]->send(std::move(m.gradients[port.number]), number, recorder_);
    m.gradients[port.number].reset();
  }
  if (!input_only) in_flight_[number].reset();
}

/// Gradients of all uses, added in descending order of the using layers once all have arrived. A single one is passed
/// on.
Tensor StageRunner::gather_gradient(LocalLayer& local, std::size_t output, MicroBatch& m) {
  Tensor sum;
  bool own = false;
  for (const int g : local.arriving[output]) {
    Tensor next = std::move(m.gradients[g]);
    if (!next) continue;
    if (!sum) {
      sum = std::move(next);
      continue;
    }
    if (!own) sum = device_.copy(sum.view()), own = true;
    device_.accumulate(sum.view(), device_.contiguous(next).view());
  }
  return sum;
}

void StageRunner::backward_layer(LocalLayer& local, const StepContext& context, MicroBatch& m, bool input_only) {
  const Layer& layer = *local.layer;
  const std::size_t at = static_cast<std::size_t>(layer.index - stage_.first);
  std::vector<Tensor> gradients;
  bool any = layer.is_loss();
  for (std::size_t o = 0; o < local.arriving.size(); ++o) {
    Tensor g = gather_gradient(local, o, m);
    any = any || g;
    if (g && layer.kept) g = device_.cast(g, layer.compute);
    gradients.push_back(std::move(g));
  }
  if (layer.is_loss()) gradients.clear();
  const bool flows = any && (layer.trains || want_bits(layer) != 0);
  if (flows && local.recompute) call_forward(local, context, m, m.kept[at], SY_CALL_REPLAY);
  m.kept[at].clear();
  if (flows) call_backward(local, context, m, gradients, input_only);
  if (m.saved[at] && !(flows && input_only)) layer.api->free_saved(layer.handle, std::exchange(m.saved[at], nullptr));
}

void StageRunner::call_backward(LocalLayer& local, const StepContext& context, MicroBatch& m,
                                const std::vector<Tensor>& gradients, bool input_only) {
  const Layer& layer = *local.layer;
  const std::size_t at = static_cast<std::size_t>(layer.index - stage_.first);
  in_layer(layer, stage_, device_, m.input->number, [&] {
    std::vector<sy_tensor*> in, out(layer.inputs.size());
    for (const Tensor& t : gradients) in.push_back(t.get());
    sy_call call = make_call(context, *m.input, layer, device_, context.flags);
    call.n_in = static_cast<uint32_t>(in.size()), call.in = in.data();
    call.n_out = static_cast<uint32_t>(out.size()), call.out = out.data();
    call.want = want_bits(layer);
    OutputGuard guard(out);
    call_plugin([&](sy_error** e) {
      return input_only ? layer.api->backward_input(layer.handle, &call, m.saved[at], e)
                        : layer.api->backward(layer.handle, &call, std::exchange(m.saved[at], nullptr), e);
    });
    std::vector<Tensor> made = guard.take();
    for (std::size_t i = 0; i < made.size(); ++i) {
      if (local.gradients[i] < 0 || !made[i]) continue;
      check_output(local, m.input->shapes->in[layer.index][i], made[i], "input gradient " + std::to_string(i), context);
      made[i] = device_.contiguous(made[i]);
      m.gradients[local.gradients[i]] = layer.kept ? device_.cast(made[i], model_.run_type()) : std::move(made[i]);
    }
  });
}

void StageRunner::backward_weight(StepContext& context, int number) {
  MicroBatch& m = micro_batch(number);
  recorder_.begin_action(SY_ACT_W, stage_.index, number);
  for (auto local = layers_.rbegin(); local != layers_.rend(); ++local) {
    const Layer& layer = *local->layer;
    const std::size_t at = static_cast<std::size_t>(layer.index - stage_.first);
    if (!m.saved[at]) continue;
    if (context.stop->load()) throw Stopped();
    in_layer(layer, stage_, device_, number, [&] {
      sy_call call = make_call(context, *m.input, layer, device_, context.flags);
      call_plugin([&](sy_error** e) {
        return layer.api->backward_weight(layer.handle, &call, std::exchange(m.saved[at], nullptr), e);
      });
    });
  }
  recorder_.end_action();
  in_flight_[number].reset();
}

void StageRunner::finish(const StepContext& context) {
  for (const LocalLayer& local : layers_) {
    const bool accumulates = std::any_of(local.layer->parameters.begin(), local.layer->parameters.end(),
                                         [&](int p) { return model_.parameters()[p].kind == SY_ACCUMULATOR; });
    if (!accumulates) continue;
    in_layer(*local.layer, stage_, device_, -1, [&] {
      sy_call call = make_call(context, context.micro_batches[0], *local.layer, device_, context.flags);
      call_plugin([&](sy_error** e) { return local.layer->api->finish(local.layer->handle, &call, e); });
    });
  }
}

void StageRunner::abandon() {
  if (std::none_of(in_flight_.begin(), in_flight_.end(), [](const auto& m) { return m != nullptr; })) return;
  const Device::Current current(device_);
  for (auto& m : in_flight_) {
    if (!m) continue;
    for (std::size_t i = 0; i < layers_.size(); ++i)
      if (m->saved[i]) layers_[i].layer->api->free_saved(layers_[i].layer->handle, m->saved[i]);
  }
  in_flight_.clear();
}

}  // namespace switchyard
