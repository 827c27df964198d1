// One layer of a built plugin, driven as the core would: infer, params, bind, calls. Tensors of the test are
// at::Tensors.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "support/fake_host.hpp"
#include "switchyard/random.h"
#include "torch_and_doctest.hpp"

namespace layers {

using Tensors = std::vector<at::Tensor>;
using Named = std::map<std::string, at::Tensor>;

/// What a call says besides its tensors.
struct How {
  uint32_t kind = SY_TRAIN;
  uint32_t flags = 0;
  uint64_t step = 1;
  int64_t first_sample = 0;
  double loss_weight = 1.0;
  uint64_t seed = 7;
  uint32_t micro_batch = 0, micro_batches = 1;
};

inline const std::map<at::ScalarType, sy_dtype>& dtypes() {
  static const std::map<at::ScalarType, sy_dtype> table = {
      {at::kFloat, {SY_FLOAT, 32, 1}},  {at::kBFloat16, {SY_BFLOAT, 16, 1}}, {at::kHalf, {SY_FLOAT, 16, 1}},
      {at::kDouble, {SY_FLOAT, 64, 1}}, {at::kLong, {SY_INT, 64, 1}},        {at::kInt, {SY_INT, 32, 1}},
      {at::kByte, {SY_UINT, 8, 1}}};
  return table;
}
inline at::ScalarType type_of(sy_dtype t) {
  for (const auto& [torch, ours] : dtypes())
    if (ours.code == t.code && ours.bits == t.bits) return torch;
  throw std::runtime_error("a type that tests do not know");
}

inline int64_t count_of(const sy_view& v) {
  int64_t n = 1;
  for (int32_t d = 0; d < v.ndim; ++d) n *= v.shape[d];
  return n;
}

inline constexpr sy_device device{SY_DEVICE_CPU, 1};

/// A view of a tensor that lives at least as long.
struct View {
  explicit View(const at::Tensor& t)
      : shape(t.sizes().vec()), strides(t.strides().vec()), view{t.data_ptr(),
                                                                 device,
                                                                 static_cast<int32_t>(t.dim()),
                                                                 dtypes().at(t.scalar_type()),
                                                                 shape.data(),
                                                                 strides.data(),
                                                                 0} {}
  std::vector<int64_t> shape, strides;
  sy_view view;
};

inline sy_tensor* handle(const at::Tensor& t) {
  if (!t.defined()) return nullptr;
  sy_tensor* made = nullptr;
  const View v(t);
  fake::tensors::wrap(
      nullptr, &v.view, new at::Tensor(t), [](void* o) { delete static_cast<at::Tensor*>(o); }, &made, nullptr);
  return made;
}
/// Takes the handle.
inline at::Tensor opened(sy_tensor* t) {
  if (!t) return {};
  return at::from_blob(
      t->view.data, t->shape, t->strides, [t](void*) { fake::tensors::drop(t); },
      at::TensorOptions().dtype(type_of(t->view.dtype)));
}

class OneLayer {
 public:
  /// leaf: a folder of plugins/layers, or a file within the build folder.
  OneLayer(const std::string& leaf, const std::string& id, std::map<std::string, std::string> options = {})
      : api_(fake::table<sy_layer_api>(
            fake::plugin(leaf.find('/') == leaf.npos ? "plugins/sy-layer-" + leaf + ".so" : leaf), SY_KIND_LAYER, id)),
        options_(fake::config(api_, std::move(options))) {
    fake::must([&](sy_error** e) { return api_.create(fake::host(), &options_, &layer_, e); });
  }
  ~OneLayer() {
    while (!kept_.empty()) forget();
    api_.destroy(layer_);
  }
  OneLayer(const OneLayer&) = delete;

  /// Learns the shapes; fills weights with small random numbers and buffers as declared; binds. `type`: of the run,
  /// where no input tells.
  OneLayer& build(const Tensors& in, at::ScalarType type = at::kFloat, bool trained = true) {
    infer(SY_TRAIN, in);
    for (const at::Tensor& t : in)
      if (at::isFloatingType(t.scalar_type())) type = t.scalar_type();
    compute_ = type;
    at::manual_seed(11);
    sy_param p{};
    p.size = sizeof p;
    for (uint32_t i = 0; api_.params(layer_, i, &p, nullptr) == SY_OK; ++i) add_param(p, trained);
    bind(trained);
    return *this;
  }

  std::vector<sy_port> infer(uint32_t kind, const Tensors& in) {
    std::vector<sy_port> ports = ports_of(in), made(4);
    std::vector<sy_port*> to, from;
    for (auto& p : ports) from.push_back(&p);
    for (auto& p : made) p.size = sizeof p, to.push_back(&p);
    uint32_t n = 4;
    fake::must([&](sy_error** e) {
      return api_.infer(layer_, kind, from.data(), static_cast<uint32_t>(from.size()), to.data(), 4, &n, e);
    });
    made.resize(n);
    n_out_ = n;
    in_ports = ports;
    return made;
  }

  sy_cost cost(uint32_t kind, const Tensors& in) {
    std::vector<sy_port> ports = ports_of(in);
    std::vector<const sy_port*> from;
    for (auto& p : ports) from.push_back(&p);
    sy_cost c{};
    c.size = sizeof c;
    fake::must(
        [&](sy_error** e) { return api_.cost(layer_, kind, from.data(), static_cast<uint32_t>(from.size()), &c, e); });
    return c;
  }

  /// The newest saved handle stands last; backward takes the first or the last.
  Tensors forward(const Tensors& in, How how = {}) {
    std::vector<sy_tensor*> from, to(n_out_, nullptr);
    for (const auto& t : in) from.push_back(handle(t));
    sy_call call = call_of(how, in.empty() ? 0 : in[0].size(0));
    call.n_in = static_cast<uint32_t>(from.size()), call.n_out = n_out_;
    call.in = from.data(), call.out = to.data();
    sy_saved* kept = nullptr;
    sy_error* err = nullptr;
    const sy_rc rc = api_.forward(layer_, &call, &kept, &err);
    const auto [code, text] = fake::taken(err);
    if (kept)
      kept_.push_back({kept, call.rows, std::move(from)});
    else
      for (auto* t : from) fake::tensors::drop(t);
    if (rc != SY_OK) throw fake::failure(rc, text);
    Tensors out;
    for (auto* t : to) out.push_back(opened(t));
    return out;
  }

  /// In two calls, where `halves` is set.
  Tensors backward(const Tensors& grads, uint32_t n_in = 1, uint64_t want = ~uint64_t{0}, How how = {},
                   bool oldest = true, bool halves = false) {
    std::vector<sy_tensor*> from, to(n_in, nullptr);
    for (const auto& t : grads) from.push_back(handle(t));
    const Kept kept = oldest ? kept_.front() : kept_.back();
    oldest ? kept_.pop_front() : kept_.pop_back();
    sy_call call = call_of(how, kept.rows);
    call.n_in = static_cast<uint32_t>(from.size()), call.n_out = n_in;
    call.in = from.data(), call.out = to.data(), call.want = want & ((uint64_t{1} << n_in) - 1);
    sy_error* err = nullptr;
    sy_rc rc =
        halves ? api_.backward_input(layer_, &call, kept.saved, &err) : api_.backward(layer_, &call, kept.saved, &err);
    if (halves) held = bytes_held(kept.inputs, from, to);
    for (auto* t : from) fake::tensors::drop(t);
    for (auto* t : kept.inputs) fake::tensors::drop(t);
    if (halves && rc == SY_OK) {
      call = call_of(how, kept.rows);
      rc = api_.backward_weight(layer_, &call, kept.saved, &err);
    }
    const auto [code, text] = fake::taken(err);
    if (rc != SY_OK) throw fake::failure(rc, text);
    Tensors out;
    for (auto* t : to) out.push_back(opened(t));
    return out;
  }
  Tensors backward_in_halves(const Tensors& grads, uint32_t n_in = 1) {
    return backward(grads, n_in, ~uint64_t{0}, {}, true, true);
  }

  void finish(How how = {}) {
    sy_call call = call_of(how, 0);
    fake::must([&](sy_error** e) { return api_.finish(layer_, &call, e); });
  }
  void forget() {
    api_.free_saved(layer_, kept_.front().saved);
    for (auto* t : kept_.front().inputs) fake::tensors::drop(t);
    kept_.pop_front();
  }
  std::size_t kept() const { return kept_.size(); }
  void zero_grads() {
    for (auto& [name, g] : grads) g.zero_();
  }

  Named values, grads;
  std::map<std::string, sy_param> declared;
  std::vector<std::string> names;  // in the order of declaration
  std::vector<sy_port> in_ports;   // as infer left them
  sy_origin origin;
  int64_t threads = 1;
  std::optional<int64_t> ignore;  // marks the last input
  std::string name = "layer";
  int64_t held = 0;  // bytes between the last backward_input and its backward_weight
  uint32_t caps() const { return api_.caps; }

 private:
  std::vector<sy_port> ports_of(const Tensors& in) const {
    std::vector<sy_port> ports;
    for (const auto& t : in) {
      sy_port p{};
      p.size = sizeof p;
      p.dtype = dtypes().at(t.scalar_type());
      p.flags = at::isFloatingType(t.scalar_type()) ? uint32_t{SY_PORT_DIFFERENTIABLE} : 0u;
      p.ndim = static_cast<int32_t>(t.dim());
      for (int64_t d = 0; d < t.dim(); ++d) p.shape[d] = t.size(d);
      ports.push_back(p);
    }
    if (ignore) ports.back().flags |= SY_PORT_IGNORE, ports.back().ignore_id = *ignore;
    return ports;
  }
  void add_param(const sy_param& p, bool trained) {
    const std::vector<int64_t> shape(p.shape, p.shape + p.ndim);
    const at::ScalarType type = p.dtype_class == SY_CLASS_GIVEN  ? type_of(p.dtype)
                                : p.dtype_class == SY_CLASS_FP32 ? at::kFloat
                                                                 : compute_;
    at::Tensor value = at::zeros(shape, type);
    if (p.kind == SY_WEIGHT) {
      value = at::randn(shape, at::kDouble).mul(0.3).add(std::string(p.init) == "ones" ? 1.0 : 0.0).to(type);
      if (trained) grads[p.name] = at::zeros(shape, type == at::kDouble ? at::kDouble : at::kFloat);
    } else if (std::string(p.init) == "ones") {
      value.fill_(1);
    }
    values[p.name] = value;
    names.push_back(p.name);
    declared[p.name] = p;
  }
  void bind(bool) {
    std::deque<View> views;
    std::vector<const sy_view*> v, g;
    for (const auto& n : names) {
      views.emplace_back(values.at(n));
      v.push_back(&views.back().view);
      g.push_back(nullptr);
      if (grads.count(n)) {
        views.emplace_back(grads.at(n));
        g.back() = &views.back().view;
      }
    }
    const sy_binding b{
        sizeof(sy_binding), static_cast<uint32_t>(v.size()), v.data(), g.data(), device, &origin, threads};
    fake::must([&](sy_error** e) { return api_.bind(layer_, &b, e); });
  }
  /// What is alive, its inputs and gradients where it keeps them, without what it gave.
  int64_t bytes_held(const std::vector<sy_tensor*>& inputs, const std::vector<sy_tensor*>& gradients,
                     const std::vector<sy_tensor*>& given) const {
    const auto bytes = [](const sy_tensor* t) { return count_of(t->view) * t->view.dtype.bits / 8; };
    int64_t all = origin.live;
    for (const auto& lent : {inputs, gradients})
      for (const sy_tensor* t : lent) all += t && t->uses > 1 ? bytes(t) : 0;
    for (const sy_tensor* t : given) all -= t ? bytes(t) : 0;
    return all;
  }
  sy_call call_of(const How& how, int64_t rows) const {
    sy_call c{};
    c.size = sizeof c;
    c.kind = how.kind, c.flags = how.flags, c.step = how.step, c.first_sample = how.first_sample;
    c.loss_weight = how.loss_weight, c.seed = how.seed, c.layer_key = sy_hash_name(name.c_str());
    c.micro_batch = how.micro_batch, c.micro_batches = how.micro_batches, c.rows = rows, c.batch_rows = rows;
    c.device = device, c.origin = &origin, c.threads = threads;
    return c;
  }

  const sy_layer_api& api_;
  sy_config options_;
  sy_layer* layer_ = nullptr;
  uint32_t n_out_ = 1;
  at::ScalarType compute_ = at::kFloat;
  struct Kept {
    sy_saved* saved;
    int64_t rows;
    std::vector<sy_tensor*> inputs;
  };
  std::deque<Kept> kept_;
};

// ---- comparisons --------------------------------------------------------------------------------------------------

inline bool is(const at::Tensor& t, at::ScalarType type) { return t.scalar_type() == type; }
inline bool same_bits(const at::Tensor& a, const at::Tensor& b) {
  return a.sizes() == b.sizes() && a.scalar_type() == b.scalar_type() &&
         std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(), a.nbytes()) == 0;
}
/// Largest difference, relative to the largest magnitude of b (at least 1e-3).
inline double difference(const at::Tensor& a, const at::Tensor& b) {
  if (a.sizes() != b.sizes()) return INFINITY;
  if (a.numel() == 0) return 0;
  const at::Tensor x = a.detach().to(at::kDouble), y = b.detach().to(at::kDouble);
  return (x - y).abs().max().item<double>() / std::max(1e-3, y.abs().max().item<double>());
}

/// Leaves for plain LibTorch autograd with the values of the layer, in `type`.
inline Named leaves(const OneLayer& layer, at::ScalarType type) {
  Named all;
  for (const auto& [n, v] : layer.values) {
    all[n] = v.detach().clone();
    if (layer.declared.at(n).kind == SY_WEIGHT) all[n] = all[n].to(type).set_requires_grad(true);
  }
  return all;
}

}  // namespace layers
