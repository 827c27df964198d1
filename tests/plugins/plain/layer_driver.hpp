// Drives one layer through its table as the core would: infer, params, bind, forward, backward, finish.
#pragma once

#include <cmath>
#include <cstdint>
#include <map>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

/// A tensor in fp32, or of ids, with its shape.
struct Value {
  std::vector<int64_t> shape;
  std::vector<float> numbers;
  std::vector<int64_t> ids;  // used when not empty
  std::size_t count() const {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                           [](std::size_t n, int64_t d) { return n * static_cast<std::size_t>(d); });
  }
  static Value random(std::vector<int64_t> shape, unsigned seed) {
    Value v{std::move(shape), {}, {}};
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    v.numbers.resize(v.count());
    for (float& x : v.numbers) x = normal(bits);
    return v;
  }
};

inline std::vector<int64_t> contiguous(const std::vector<int64_t>& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (std::size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

/// Inputs of a call, dropped at its end also when an exception escapes.
struct Inputs : std::vector<sy_tensor*> {
  explicit Inputs(std::vector<sy_tensor*> all) : std::vector<sy_tensor*>(std::move(all)) {}
  Inputs(const Inputs&) = delete;
  ~Inputs() {
    for (sy_tensor* t : *this) fake::host()->tensor_drop(t);
  }
};

class Layer {
 public:
  sy_call call{};
  sy_origin origin;
  std::vector<std::string> names;
  std::vector<std::vector<float>> values, grads;
  std::vector<sy_param> declared;
  std::vector<sy_port> in_ports, out_ports;
  sy_cost cost{};

  Layer(const std::string& file, const std::string& type, std::map<std::string, std::string> options)
      : api(fake::table<sy_layer_api>(fake::plugin(file), SY_KIND_LAYER, type)) {
    const sy_config table = fake::config(api, std::move(options));
    fake::must([&](sy_error** e) { return api.create(fake::host(), &table, &self_, e); });
    call.size = sizeof call;
    call.kind = SY_TRAIN;
    call.step = 1;
    call.seed = 5;
    call.layer_key = 77;
    call.loss_weight = 1;
    call.micro_batches = 1;
    call.origin = &origin;
    call.device = {SY_DEVICE_CPU, 0};
  }
  Layer(const Layer&) = delete;
  ~Layer() {
    for (sy_saved* s : saved_) api.free_saved(self_, s);
    api.destroy(self_);
  }

  /// Infers, and the first time makes parameters (filled at random) and binds them.
  void build(const std::vector<Value>& in, uint32_t flags = SY_PORT_DIFFERENTIABLE, int64_t ignore = 0) {
    in_ports.clear();
    for (const Value& v : in) {
      sy_port p{};
      p.size = sizeof p, p.flags = flags, p.ignore_id = ignore;
      p.dtype = v.ids.empty() ? sy_dtype{SY_FLOAT, 32, 1} : sy_dtype{SY_INT, 64, 1};
      p.ndim = static_cast<int32_t>(v.shape.size());
      std::copy(v.shape.begin(), v.shape.end(), p.shape);
      in_ports.push_back(p);
    }
    std::vector<sy_port*> in_pointers, out_pointers;
    out_ports.assign(4, sy_port{});
    for (auto& p : in_ports) in_pointers.push_back(&p);
    for (auto& p : out_ports) p.size = sizeof p, out_pointers.push_back(&p);
    uint32_t n_out = 0;
    fake::must([&](sy_error** e) {
      return api.infer(self_, call.kind, in_pointers.data(), static_cast<uint32_t>(in.size()), out_pointers.data(), 4,
                       &n_out, e);
    });
    out_ports.resize(n_out);
    cost = {};
    cost.size = sizeof cost;
    fake::must([&](sy_error** e) {
      return api.cost(self_, call.kind, in_pointers.data(), static_cast<uint32_t>(in.size()), &cost, e);
    });
    if (views_.empty()) declare();
  }

  std::vector<Value> forward(const std::vector<Value>& in, bool keep = true) {
    Inputs inputs(tensors(in));
    std::vector<sy_tensor*> outputs(out_ports.size(), nullptr);
    call.n_in = static_cast<uint32_t>(inputs.size()), call.n_out = static_cast<uint32_t>(outputs.size());
    call.in = inputs.data(), call.out = outputs.data();
    call.flags = keep ? call.flags & ~uint32_t{SY_CALL_NO_SAVE} : call.flags | SY_CALL_NO_SAVE;
    sy_saved* saved = nullptr;
    sy_error* err = nullptr;
    const sy_rc rc = api.forward(self_, &call, &saved, &err);
    if (saved) saved_.push_back(saved);
    std::vector<Value> out = taken(outputs);
    const auto [code, text] = fake::taken(err);
    if (rc != SY_OK) throw fake::failure(rc, text);
    return out;
  }
  /// Backward of the oldest forward that was kept; gradients of the inputs (empty numbers where none was given).
  std::vector<Value> backward(const std::vector<Value>& gradients, uint64_t want = ~uint64_t{0}, bool split = false) {
    Inputs inputs(tensors(gradients));
    std::vector<sy_tensor*> outputs(in_ports.size(), nullptr);
    call.n_in = static_cast<uint32_t>(inputs.size()), call.n_out = static_cast<uint32_t>(outputs.size());
    call.in = inputs.data(), call.out = outputs.data();
    call.want = want & ((uint64_t{1} << in_ports.size()) - 1);
    sy_saved* saved = saved_.at(0);
    saved_.erase(saved_.begin());
    fake::must([&](sy_error** e) {
      return split ? api.backward_input(self_, &call, saved, e) : api.backward(self_, &call, saved, e);
    });
    std::vector<Value> out = taken(outputs);
    call.n_in = call.n_out = 0;
    if (split) fake::must([&](sy_error** e) { return api.backward_weight(self_, &call, saved, e); });
    return out;
  }
  void finish() {
    fake::must([&](sy_error** e) { return api.finish(self_, &call, e); });
  }
  void zero_grads() {
    for (auto& g : grads) std::fill(g.begin(), g.end(), 0.0f);
  }
  std::vector<float>& value(const std::string& name) { return values.at(index(name)); }
  std::vector<float>& grad(const std::string& name) { return grads.at(index(name)); }
  int64_t& integer(const std::string& name) { return integers_[index(name)]; }

  const sy_layer_api& api;

 private:
  std::size_t index(const std::string& name) const {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return i;
    throw std::out_of_range(name);
  }
  void declare() {
    sy_param p{};
    p.size = sizeof p;
    for (uint32_t i = 0; api.params(self_, i, &p, nullptr) == SY_OK; ++i) {
      declared.push_back(p);
      names.emplace_back(p.name);
      Value v = Value::random({p.shape, p.shape + p.ndim}, 50 + i);
      for (float& x : v.numbers) x *= 0.5f;
      if (p.kind != SY_WEIGHT)
        std::fill(v.numbers.begin(), v.numbers.end(), std::string(p.init) == "ones" ? 1.0f : 0.0f);
      values.push_back(v.numbers);
      grads.emplace_back(v.numbers.size(), 0.0f);
    }
    integers_.assign(declared.size(), 0);
    views_.reserve(2 * declared.size() + 1);
    for (std::size_t i = 0; i < declared.size(); ++i) {
      sy_param& d = declared[i];
      strides_.push_back(contiguous({d.shape, d.shape + d.ndim}));
      sy_view v{values[i].data(), call.device, d.ndim, {SY_FLOAT, 32, 1}, d.shape, strides_.back().data(), 0};
      if (d.dtype_class == SY_CLASS_GIVEN) v.data = &integers_[i], v.dtype = d.dtype;
      views_.push_back(v);
      v.data = grads[i].data();
      views_.push_back(v);
    }
    std::vector<const sy_view*> value_views, grad_views;
    for (std::size_t i = 0; i < declared.size(); ++i) {
      value_views.push_back(&views_[2 * i]);
      grad_views.push_back(declared[i].kind == SY_WEIGHT ? &views_[2 * i + 1] : nullptr);
    }
    sy_binding b{};
    b.size = sizeof b, b.n_params = static_cast<uint32_t>(declared.size());
    b.values = value_views.data(), b.grads = grad_views.data();
    b.device = call.device, b.origin = &origin, b.threads = 1;
    fake::must([&](sy_error** e) { return api.bind(self_, &b, e); });
  }

  static std::vector<sy_tensor*> tensors(const std::vector<Value>& all) {
    std::vector<sy_tensor*> made;
    for (const Value& v : all) {
      if (v.numbers.empty() && v.ids.empty()) {
        made.push_back(nullptr);
        continue;
      }
      auto* owned = new Value(v);
      std::vector<int64_t> strides = contiguous(v.shape);
      sy_view view{nullptr,
                   {SY_DEVICE_CPU, 0},
                   static_cast<int32_t>(v.shape.size()),
                   {SY_FLOAT, 32, 1},
                   owned->shape.data(),
                   strides.data(),
                   0};
      view.data = owned->numbers.data();
      if (!v.ids.empty()) view.data = owned->ids.data(), view.dtype = {SY_INT, 64, 1};
      sy_tensor* t = nullptr;
      fake::host()->tensor_wrap(
          nullptr, &view, owned, [](void* o) { delete static_cast<Value*>(o); }, &t, nullptr);
      made.push_back(t);
    }
    return made;
  }
  static std::vector<Value> taken(const std::vector<sy_tensor*>& tensors) {
    std::vector<Value> all;
    for (sy_tensor* t : tensors) {
      Value v;
      if (t != nullptr) {
        const sy_view& view = t->view;
        v.shape = t->shape;
        const auto* start = static_cast<const char*>(view.data) + view.byte_offset;
        for (std::size_t n = 0; n < v.count(); ++n) {
          int64_t offset = 0;
          auto rest = static_cast<int64_t>(n);
          for (std::size_t d = v.shape.size(); d-- > 0; rest /= v.shape[d]) offset += rest % v.shape[d] * t->strides[d];
          if (view.dtype.code == SY_INT)
            v.ids.push_back(reinterpret_cast<const int64_t*>(start)[offset]);
          else
            v.numbers.push_back(reinterpret_cast<const float*>(start)[offset]);
        }
        fake::host()->tensor_drop(t);
      }
      all.push_back(v);
    }
    return all;
  }

  sy_layer* self_ = nullptr;
  std::vector<sy_saved*> saved_;
  std::vector<sy_view> views_;
  std::vector<std::vector<int64_t>> strides_;
  std::vector<int64_t> integers_;
};
