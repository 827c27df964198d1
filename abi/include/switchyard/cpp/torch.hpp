// switchyard/cpp/torch.hpp - C++20 help for layers made of LibTorch operators. Nothing here is ABI between plugin and
// core; a plugin that uses it is built with pkg-config switchyard_torch: libswitchyard_torch.so.0, torch_cpu and c10.
//   struct Scale {  // a whole layer type: its mathematics and its declarations
//     static constexpr const char *id = "scale", *help = "multiplies each channel by a learned number";
//     explicit Scale(const sy::config&) {}
//     std::vector<sy::port> infer(uint32_t, sy::ports in) {
//       width = in[0]->shape[in[0]->ndim - 1];
//       return {sy::like(*in[0])};
//     }
//     std::vector<sy::param> params() { return {{"weight", {width}, "ones"}}; }
//     sy::cost cost(uint32_t, sy::const_ports) { return {.keep_in = 1}; }
//     at::Tensor forward(sy::pass& p) { return p.in(0) * p["weight"]; }  // autograd makes the backward
//     int64_t width = 0;
//   };
// A whole plugin is examples/custom_layer/torch_scale.cpp: it ends with SY_PLUGIN_NOTE, sy::export_torch_layer and
// SY_DEFINE_TORCH_PLUGIN.
#pragma once

#ifdef SWITCHYARD_PLUGIN_H
#error "include switchyard/cpp/torch.hpp before plugin.h and plugin.hpp: it says which LibTorch the plugin needs"
#endif
#include <torch/version.h>
#define SY_NOTE_BUILD ";torch=" SY_STRING(TORCH_VERSION_MAJOR) "." SY_STRING(TORCH_VERSION_MINOR)

#include <ATen/TensorOperators.h>
#include <ATen/core/Tensor.h>

#include <memory>
#include <string_view>

#include "plugin.hpp"

namespace sy {

// ---- tensors and views: no bytes are copied here, except where lend says so ---------------------------------------

/// Both ways by table; a type that is in neither is a fault (SY_E_ARGUMENT). [any]
SY_EXPORT at::ScalarType to_torch(sy_dtype type);
SY_EXPORT sy_dtype from_torch(at::ScalarType type);

/// The same memory as an at::Tensor; the result holds a count of t until its storage is gone. Read-only. Logical CPU
/// devices (cpu:1) are LibTorch's one CPU. NULL gives an undefined tensor. [stage]
SY_EXPORT at::Tensor borrow(sy_tensor* t);
/// The same memory, which its owner keeps for longer than the result lives: parameters. [stage]
SY_EXPORT at::Tensor view_tensor(const sy_view& view);
/// A new handle of the core's on t's memory, on the logical device of the call; the caller owns its count. Copies first
/// when t is not contiguous, or is a part of a larger storage (which would be kept alive unseen). [stage]
SY_EXPORT sy_tensor* lend(at::Tensor t, const sy_call& call);

// ---- the surroundings of one call ---------------------------------------------------------------------------------

/// From construction to destruction this OS thread computes as the call says: LibTorch's gradient mode, all nodes of a
/// backward on this thread, call.threads CPU threads, call.device and call.native_stream as the current ones, memory
/// charged to call.origin. Everything is restored. Determinism and TF32 are settings of the whole process: the first
/// CUDA call fixes them, another wish later is a fault (SY_E_STATE). [stage]
class SY_EXPORT call_scope {
 public:
  call_scope(const sy_call& call, bool gradients);
  ~call_scope();
  call_scope(const call_scope&) = delete;
  call_scope& operator=(const call_scope&) = delete;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

/// Inside a catch block: rethrows what is being handled as a fault with a readable text (LibTorch's errors without
/// their stack trace, its lack of memory as SY_E_NO_MEMORY).
[[noreturn]] SY_EXPORT void rethrow_as_fault();

/// body() in a call_scope, LibTorch's errors as faults.
template <class Body>
auto in_call(const sy_call& call, bool gradients, Body&& body) {
  try {
    const call_scope scope(call, gradients);
    return body();
  } catch (...) {
    rethrow_as_fault();
  }
}

/// A backward follows this forward.
inline bool keeps(const sy_call& call) { return call.kind == SY_TRAIN && !(call.flags & SY_CALL_NO_SAVE); }

// ---- bound parameters ---------------------------------------------------------------------------------------------

/// The core's views as tensors, by name. Trained weights are leaves whose .grad is the core's gradient view (of its
/// type, fp32 as a rule, also for bf16 weights), so that LibTorch's autograd adds into it.
class SY_EXPORT bound_params {
 public:
  void bind(const std::vector<param>& declared, const sy_binding& binding);
  /// The tensor whose name is prefix followed by name; undefined when the layer declared none.
  const at::Tensor& find(std::string_view prefix, std::string_view name) const;
  /// The core's gradient view of it; undefined when it is not trained.
  at::Tensor grad(std::string_view prefix, std::string_view name) const;
  const std::vector<at::Tensor>& values() const { return values_; }

 private:
  std::vector<std::string> names_;
  std::vector<at::Tensor> values_;
};

/// What the forward of a LibTorch layer sees.
struct pass {
  const sy_call& call;
  const bound_params& params;
  std::vector<at::Tensor> inputs;

  const at::Tensor& in(std::size_t i) const { return inputs.at(i); }
  const at::Tensor& operator[](std::string_view name) const { return params.find({}, name); }
  const at::Tensor& operator()(std::string_view prefix, std::string_view name) const {
    return params.find(prefix, name);
  }
  bool training() const { return call.kind == SY_TRAIN; }
  /// Statistics may be gathered: a training call that is not a second run of the same forward.
  bool first_run() const { return training() && !(call.flags & SY_CALL_REPLAY); }
};

// ---- layers whose backward is made by LibTorch's autograd ---------------------------------------------------------

/// What one forward keeps: the gradient edges of its outputs (not the outputs) and where the input gradients will
/// arrive.
class SY_EXPORT graph {
 public:
  graph();
  graph(graph&&) noexcept;
  graph& operator=(graph&&) noexcept;
  ~graph();
  struct parts;
  std::unique_ptr<parts> own;
};

/// Runs a body under autograd, and its graph backwards; see torch_layer.
class SY_EXPORT autograd {
 public:
  using body = void (*)(void* layer, pass&, std::vector<at::Tensor>& outputs);
  bound_params params;
  graph forward(const sy_call& call, body run, void* layer);
  void backward(const sy_call& call, graph&& kept);
  bool checked = false;  // the first graph's leaves were looked at
};

/// A layer from a class M with: at::Tensor (or std::vector<at::Tensor>) forward(pass&), and what plugin.hpp asks for
/// except forward and backward. Optional: void finish(pass&). Faults: a layer that writes its input (SY_E_STATE), an
/// unregistered trainable tensor in the graph (SY_E_STATE, looked for in the first call). Outputs and input gradients
/// never share storage with an argument: they are copied then.
template <class M>
class torch_layer : public M {
 public:
  using saved = graph;
  using M::M;

  void bind(const sy_binding& b) {
    if constexpr (requires(M m) { m.params(); }) autograd_.params.bind(M::params(), b);
    if constexpr (requires(M m) { m.bind(b); }) M::bind(b);
  }
  saved forward(const sy_call& call) { return autograd_.forward(call, run, static_cast<M*>(this)); }
  void backward(const sy_call& call, saved&& kept) { autograd_.backward(call, std::move(kept)); }
  void finish(const sy_call& call) requires requires(M m, pass& p) { m.finish(p); }
  {
    in_call(call, false, [&] {
      pass p{call, autograd_.params, {}};
      M::finish(p);
    });
  }

 private:
  static void run(void* layer, pass& p, std::vector<at::Tensor>& outputs) {
    if constexpr (std::is_same_v<decltype(std::declval<M&>().forward(p)), at::Tensor>)
      outputs.push_back(static_cast<M*>(layer)->forward(p));
    else
      outputs = static_cast<M*>(layer)->forward(p);
  }
  autograd autograd_;
};

// ---- the plugin ---------------------------------------------------------------------------------------------------

/// While it lives, a refused allocation writes the host's own words (wanted, used, budget) into this error slot.
class SY_EXPORT error_slot {
 public:
  explicit error_slot(sy_error** err);
  ~error_slot();
  error_slot(const error_slot&) = delete;

 private:
  sy_error** before_;
};

/// Installs the counting allocator; later calls do nothing. [ctl]
SY_EXPORT sy_rc attach_glue(const sy_host* host, sy_error** err);

inline sy_rc attach_torch(const sy_host* table, sy_error** err) {
  attach(table, err);
  return attach_glue(table, err);
}

/// While a layer lives, the memory of freed CPU tensors is kept for the next ones. [any]
SY_EXPORT void layer_made();
SY_EXPORT void layer_gone();

template <class L>
struct torch_table : layer_table<L> {
  using base = layer_table<L>;
  static sy_rc create(const sy_host* h, const sy_config* c, sy_layer** give, sy_error** err) {
    const sy_rc rc = base::create(h, c, give, err);
    if (rc == SY_OK) layer_made();
    return rc;
  }
  static void destroy(sy_layer* take) {
    if (!take) return;
    base::destroy(take);
    layer_gone();
  }
  static sy_rc forward(sy_layer* l, const sy_call* call, sy_saved** give, sy_error** err) {
    const error_slot slot(err);
    return base::forward(l, call, give, err);
  }
  static sy_rc backward(sy_layer* l, const sy_call* call, sy_saved* take, sy_error** err) {
    const error_slot slot(err);
    return base::backward(l, call, take, err);
  }
  static sy_rc backward_input(sy_layer* l, const sy_call* call, sy_saved* lend, sy_error** err) {
    const error_slot slot(err);
    return base::backward_input(l, call, lend, err);
  }
  static sy_rc backward_weight(sy_layer* l, const sy_call* call, sy_saved* take, sy_error** err) {
    const error_slot slot(err);
    return base::backward_weight(l, call, take, err);
  }
  static constexpr sy_layer_api table = [] {
    sy_layer_api t = base::table;
    t.create = create;
    t.destroy = destroy;
    t.forward = forward;
    t.backward = backward;
    if (base::splits) t.backward_input = backward_input, t.backward_weight = backward_weight;
    return t;
  }();
};

template <class L>
constexpr sy_export export_torch_layer() {
  return {SY_KIND_LAYER, &torch_table<L>::table};
}

}  // namespace sy

/// SY_DEFINE_PLUGIN for plugins that use the glue.
#define SY_DEFINE_TORCH_PLUGIN(plugin_id, plugin_version, exports)                                 \
  extern "C" SY_EXPORT constexpr sy_plugin sy_plugin_v1{SY_PLUGIN_MAGIC,                           \
                                                        sizeof(sy_plugin),                         \
                                                        SY_ABI_MAJOR,                              \
                                                        SY_ABI_MINOR,                              \
                                                        plugin_id,                                 \
                                                        plugin_version,                            \
                                                        exports,                                   \
                                                        static_cast<uint32_t>(std::size(exports)), \
                                                        0,                                         \
                                                        sy::attach_torch};
