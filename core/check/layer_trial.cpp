#include "check/layer_trial.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "engine/call.hpp"
#include "model/initial.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"
#include "switchyard/random.h"

namespace switchyard::checks {

namespace {

constexpr std::size_t most_outputs = 8;

struct TrialPorts {
  explicit TrialPorts(std::size_t n) : ports(n) {
    for (sy_port& p : ports) p.size = sizeof(sy_port), pointers.push_back(&p);
  }
  TrialPorts(const std::vector<Port>& from, sy_dtype compute) : TrialPorts(from.size()) {
    for (std::size_t i = 0; i < from.size(); ++i) {
      sy_port& p = ports[i];
      p.flags = (from[i].differentiable ? uint32_t{SY_PORT_DIFFERENTIABLE} : 0u) |
                (from[i].ignore_id ? uint32_t{SY_PORT_IGNORE} : 0u);
      p.dtype = from[i].dtype;
      p.ndim = static_cast<int32_t>(from[i].shape.size());
      std::copy(from[i].shape.begin(), from[i].shape.end(), p.shape);
      p.ignore_id = from[i].ignore_id.value_or(0);
      p.compute = compute;
    }
  }
  std::vector<sy_port> ports;
  std::vector<sy_port*> pointers;
};

Port port_of(const sy_port& p) {
  if (p.ndim < 0 || p.ndim > SY_MAX_DIMS)
    throw Error(SY_E_ABI, "infer gives an output of " + std::to_string(p.ndim) + " dimensions");
  return {{p.shape, p.shape + p.ndim}, p.dtype, (p.flags & SY_PORT_DIFFERENTIABLE) != 0, 0, {}};
}

sy_dtype param_type(const sy_param& p, sy_dtype compute) {
  return p.dtype_class == SY_CLASS_COMPUTE ? compute : p.dtype_class == SY_CLASS_FP32 ? dtype::f32 : p.dtype;
}

/// What the layer declared, and away from zero, where many a wrong gradient looks right.
void set_start(const TrialParam& p, uint64_t seed) {
  if (p.kind == SY_ACCUMULATOR || !is_float(p.value.type())) return;
  std::vector<float> drawn(p.value.count());
  draw_initial(Distribution::parse(p.init), 1, p.name, drawn);
  Draw more(seed);
  Numbers numbers(drawn.begin(), drawn.end());
  if (p.kind == SY_WEIGHT)
    for (double& x : numbers) x += 0.25 * more.number();
  p.value.write(numbers);
}

}  // namespace

std::string port_text(const Port& port) {
  std::string text;
  for (const int64_t d : port.shape) text += (text.empty() ? "" : "x") + std::to_string(d);
  return text + " " + dtype_name(port.dtype);
}

LayerCase LayerCase::in(sy_dtype type) const {
  LayerCase other = *this;
  other.compute = type;
  return other;
}

LayerCase LayerCase::with_rows(int64_t rows) const {
  LayerCase other = *this;
  for (Port& p : other.inputs) p.shape[0] = rows;
  return other;
}

LayerCase LayerCase::with(const std::string& option, const Value& value) const {
  LayerCase other = *this;
  other.options.set(option, value);
  return other;
}

LayerTrial::LayerTrial(const LayerCase& what)
    : case_(what), in_(what.inputs), account_(make_account("cpu:0", no_budget)) {
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (is_float(in_[i].dtype) && !what.is_target(i)) in_[i].dtype = what.compute;
  ErrorList errors;
  const sy_config checked = check_plugin_options(*what.api, what.options, errors, "");
  errors.raise();
  call_plugin([&](sy_error** e) { return what.api->create(host_table(), &checked, &layer_, e); });
  try {
    out_ = infer(SY_TRAIN);
    take_params();
    const TrialPorts ports(in_, what.compute);
    cost_.size = sizeof cost_;
    call_plugin([&](sy_error** e) {
      return what.api->cost(layer_, SY_TRAIN, ports.pointers.data(), static_cast<uint32_t>(in_.size()), &cost_, e);
    });
    bind();
  } catch (...) {
    what.api->destroy(layer_);
    throw;
  }
}

LayerTrial::~LayerTrial() { case_.api->destroy(layer_); }

std::vector<Port> LayerTrial::infer(uint32_t kind) {
  std::vector<Port> seen = in_;
  if (case_.is_loss() && kind == SY_FORWARD) seen.pop_back();
  TrialPorts inputs(seen, case_.compute), outputs(most_outputs);
  uint32_t n = 0;
  call_plugin([&](sy_error** e) {
    return case_.api->infer(layer_, kind, inputs.pointers.data(), static_cast<uint32_t>(seen.size()),
                            outputs.pointers.data(), most_outputs, &n, e);
  });
  if (n > most_outputs) throw Error(SY_E_ABI, "infer gives more than 8 outputs");
  for (std::size_t i = 0; i < seen.size(); ++i) in_[i].id_limit = inputs.ports[i].id_limit;
  std::vector<Port> all;
  for (uint32_t i = 0; i < n; ++i) all.push_back(port_of(outputs.ports[i]));
  return all;
}

std::vector<TrialParam> LayerTrial::declared() const {
  std::vector<TrialParam> all;
  for (uint32_t i = 0;; ++i) {
    sy_param p{};
    p.size = sizeof p;
    sy_error* error = nullptr;
    const sy_rc rc = case_.api->params(layer_, i, &p, &error);
    if (rc == SY_E_RANGE && !error) return all;
    if (rc != SY_OK) throw_plugin_error(rc, error);
    TrialParam made{
        p.name ? p.name : "", p.init ? p.init : "zeros", p.tied_to ? p.tied_to : "", p.kind, p.dtype_class, {}, {}};
    if (p.ndim < 0 || p.ndim > SY_MAX_DIMS)
      throw Error(SY_E_ABI, "'" + made.name + "' has " + std::to_string(p.ndim) + " dimensions");
    const Shape shape(p.shape, p.shape + p.ndim);
    const sy_dtype type = param_type(p, case_.compute);
    if (!is_known(type)) throw Error(SY_E_ABI, "'" + made.name + "' has a type that does not exist");
    made.value = HostArray(shape, type, case_.lead);
    if (p.kind == SY_WEIGHT)
      made.grad = HostArray(shape, case_.compute == dtype::f64 ? dtype::f64 : dtype::f32, case_.lead);
    all.push_back(std::move(made));
  }
}

void LayerTrial::take_params() {
  params_ = declared();
  for (std::size_t i = 0; i < params_.size(); ++i) set_start(params_[i], 100 + i);
}

void LayerTrial::bind() {
  std::vector<const sy_view*> values, gradients;
  for (const TrialParam& p : params_) {
    values.push_back(&p.value.view());
    gradients.push_back(p.kind == SY_WEIGHT ? &p.grad.view() : nullptr);
  }
  sy_binding b{};
  b.size = sizeof b;
  b.n_params = static_cast<uint32_t>(values.size());
  b.values = values.data(), b.grads = gradients.data();
  b.device = {SY_DEVICE_CPU, 0};
  b.origin = account_;
  b.threads = 1;
  call_plugin([&](sy_error** e) { return case_.api->bind(layer_, &b, e); });
}

std::vector<HostArray> LayerTrial::draw_inputs(uint64_t seed) const {
  std::vector<HostArray> all;
  for (std::size_t i = 0; i < in_.size(); ++i) {
    const HostArray array(in_[i].shape, in_[i].dtype, case_.lead);
    Draw draw(seed * 16 + i);
    if (is_float(in_[i].dtype)) {
      array.write(draw.numbers(array.count()));
    } else {
      const int64_t limit = in_[i].id_limit > 0 ? std::min<int64_t>(in_[i].id_limit, 127) : 2;
      for (std::size_t e = 0; e < array.count(); ++e) array.write_id(e, draw.below(limit));
    }
    all.push_back(array);
  }
  return all;
}

std::vector<HostArray> LayerTrial::draw_gradients(uint64_t seed) const {
  std::vector<HostArray> all;
  if (case_.is_loss()) return all;
  for (std::size_t o = 0; o < out_.size(); ++o) {
    if (!out_[o].differentiable || !is_float(out_[o].dtype)) {
      all.emplace_back();
      continue;
    }
    const HostArray array(out_[o].shape, out_[o].dtype, case_.lead);
    array.write(Draw(seed * 16 + o).numbers(array.count()));
    all.push_back(array);
  }
  return all;
}

bool LayerTrial::wants(std::size_t input) const { return is_float(in_[input].dtype) && !case_.is_target(input); }

sy_call LayerTrial::call(std::vector<sy_tensor*>& in, std::vector<sy_tensor*>& out, const How& how) const {
  sy_call c{};
  c.size = sizeof c;
  c.flags = how.flags;
  c.kind = how.kind;
  c.micro_batches = 1;
  c.n_in = static_cast<uint32_t>(in.size()), c.in = in.data();
  c.n_out = static_cast<uint32_t>(out.size()), c.out = out.data();
  c.param_version = version_;
  c.device = {SY_DEVICE_CPU, 0};
  c.origin = account_;
  c.threads = 1;
  c.rows = rows(), c.batch_rows = rows();
  c.first_sample = how.first_sample;
  c.step = how.step;
  c.seed = 7;
  c.layer_key = sy_hash_name("layer");
  c.loss_weight = rows() > 0 ? 1.0 / static_cast<double>(rows()) : 1.0;
  for (std::size_t i = 0; i < in_.size(); ++i)
    if (wants(i)) c.want |= uint64_t{1} << i;
  return c;
}

Pass LayerTrial::forward(const std::vector<Tensor>& inputs, const How& how) {
  std::vector<sy_tensor*> in, out(how.kind == SY_TRAIN ? out_.size() : infer(how.kind).size());
  for (const Tensor& t : inputs) in.push_back(t.get());
  if (case_.is_loss() && how.kind == SY_FORWARD) in.pop_back();
  const sy_call c = call(in, out, how);
  Pass pass;
  OutputGuard guard(out);
  call_plugin([&](sy_error** e) { return case_.api->forward(layer_, &c, &pass.saved, e); });
  pass.outputs = guard.take();
  return pass;
}

Pass LayerTrial::forward(const std::vector<HostArray>& inputs, const How& how) {
  std::vector<Tensor> tensors;
  for (const HostArray& a : inputs) tensors.push_back(a.tensor());
  return forward(tensors, how);
}

int64_t LayerTrial::held_between(const std::vector<Tensor>& lent, const std::vector<sy_tensor*>& made) const {
  int64_t bytes = account_->live;
  for (const Tensor& t : lent)
    if (t && t.get()->count > 1) bytes += static_cast<int64_t>(byte_count(t.view()));
  for (const sy_tensor* t : made)
    if (t) bytes -= static_cast<int64_t>(byte_count(t->view));
  return bytes;
}

std::vector<Tensor> LayerTrial::backward(Pass& pass, const std::vector<HostArray>& gradients, const How& how) {
  std::vector<Tensor> lent;
  std::vector<sy_tensor*> in, out(in_.size()), none;
  for (const HostArray& g : gradients) lent.push_back(g.count() > 0 || !g.shape().empty() ? g.tensor() : Tensor());
  for (const Tensor& t : lent) in.push_back(t.get());
  const sy_call c = call(in, out, how), w = call(none, none, how);
  sy_saved* saved = std::exchange(pass.saved, nullptr);
  OutputGuard guard(out);
  if (!how.split) {
    call_plugin([&](sy_error** e) { return case_.api->backward(layer_, &c, saved, e); });
    return guard.take();
  }
  call_plugin([&](sy_error** e) { return case_.api->backward_input(layer_, &c, saved, e); });
  if (how.held) *how.held = held_between(lent, out);
  lent.clear();  // between the two halves only the layer keeps what it needs
  call_plugin([&](sy_error** e) { return case_.api->backward_weight(layer_, &w, saved, e); });
  return guard.take();
}

void LayerTrial::free_saved(Pass& pass) {
  if (pass.saved) case_.api->free_saved(layer_, std::exchange(pass.saved, nullptr));
}

void LayerTrial::finish() {
  std::vector<sy_tensor*> none;
  const sy_call c = call(none, none, {});
  call_plugin([&](sy_error** e) { return case_.api->finish(layer_, &c, e); });
  values_changed();
}

void LayerTrial::start_step() {
  for (const TrialParam& p : params_) {
    if (p.kind == SY_WEIGHT) p.grad.zero();
    if (p.kind == SY_ACCUMULATOR) p.value.zero();
  }
}

std::vector<Named> LayerTrial::run(const std::vector<HostArray>& inputs, const How& how) {
  start_step();
  Pass pass = forward(inputs, how);
  std::vector<Named> all;
  for (std::size_t o = 0; o < pass.outputs.size(); ++o)
    if (pass.outputs[o]) all.push_back(copy_of("output " + std::to_string(o), pass.outputs[o].view()));
  const std::vector<Tensor> back = backward(pass, draw_gradients(), how);
  for (std::size_t i = 0; i < back.size(); ++i)
    if (back[i]) all.push_back(copy_of("the gradient of input " + std::to_string(i), back[i].view()));
  for (Named& n : accumulated()) all.push_back(std::move(n));
  return all;
}

std::vector<Named> LayerTrial::predict(const std::vector<HostArray>& inputs, uint32_t kind) {
  Pass pass = forward(inputs, {.kind = kind, .flags = SY_CALL_NO_SAVE});
  free_saved(pass);
  std::vector<Named> all;
  for (std::size_t o = 0; o < pass.outputs.size(); ++o)
    if (pass.outputs[o]) all.push_back(copy_of("output " + std::to_string(o), pass.outputs[o].view()));
  return all;
}

std::vector<Named> LayerTrial::accumulated() const {
  std::vector<Named> all;
  for (const TrialParam& p : params_) {
    if (p.kind == SY_WEIGHT) all.push_back(copy_of("the gradient of '" + p.name + "'", p.grad));
    if (p.kind == SY_ACCUMULATOR) all.push_back(copy_of("the accumulator '" + p.name + "'", p.value));
  }
  return all;
}

std::vector<Named> LayerTrial::state() const {
  std::vector<Named> all;
  for (const TrialParam& p : params_)
    if (p.kind == SY_WEIGHT || p.kind == SY_BUFFER) all.push_back(copy_of("'" + p.name + "'", p.value));
  return all;
}

}  // namespace switchyard::checks
