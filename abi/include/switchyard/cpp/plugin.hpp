// switchyard/cpp/plugin.hpp - header-only C++20 help for plugin authors, standard library only. Nothing here is ABI: it
// fills the C tables of layer.h, policy.h, schedule.h and optimizer.h, and keeps exceptions at home.
//
//   struct Scale {                                            // a whole layer type
//     static constexpr const char* id = "scale";
//     static constexpr const char* help = "multiplies by a number";
//     static constexpr sy_option options[] = {sy::f64_option("by", "2.0", -1e9, 1e9, "the number")};
//     struct saved {};
//     explicit Scale(const sy::config& c) : by(c.f64("by")) {}
//     std::vector<sy::port> infer(uint32_t kind, sy::ports in) { return {sy::like(*in[0])}; }
//     sy::cost cost(uint32_t kind, sy::const_ports in) { ... }
//     saved forward(const sy_call& call) { ... call.out[0] = ... ; return {}; }
//     void backward(const sy_call& call, saved&& s) { ... }
//   };
//   SY_PLUGIN_NOTE("org.example.scale");
//   static constexpr sy_export exports[] = {sy::export_layer<Scale>()};
//   SY_DEFINE_PLUGIN("org.example.scale", "1.0", exports)
#pragma once

#include <cstdint>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "../plugin.h"
#include "../random.h"

namespace sy {

/// Throw it inside a plugin; guard() turns it into the code and the text.
struct fault : std::runtime_error {
  sy_rc code;
  fault(sy_rc c, const std::string& text) : std::runtime_error(text), code(c) {}
};

inline const sy_host*& host() {
  static const sy_host* table = nullptr;
  return table;
}

/// Every border function runs inside guard: the one place where exceptions end. [any]
template <class Body>
sy_rc guard(sy_error** err, Body&& body) noexcept {
  const sy_host* h = host();
  try {
    body();
    return SY_OK;
  } catch (const fault& f) {
    return h->fail(h->self, err, f.code, f.what());
  } catch (const std::bad_alloc&) {
    return h->fail(h->self, err, SY_E_NO_MEMORY, "out of host memory");
  } catch (const std::exception& e) {
    return h->fail(h->self, err, SY_E_INTERNAL, e.what());
  } catch (...) {
    return h->fail(h->self, err, SY_E_UNKNOWN, "an exception of unknown type");
  }
}

/// Turns a host function's code into a fault (the text is made by the host and dropped here; ours names the place).
inline void check(sy_rc code, const std::string& what) {
  if (code != SY_OK) throw fault(code, what);
}

// ---- options -------------------------------------------------------------------------------------------------------

constexpr sy_option option(uint32_t type, const char* key, const char* fallback, double min, double max,
                           const char* const* choices, const char* help, const char* unit = nullptr) {
  return sy_option{sizeof(sy_option), type, key, fallback, min, max, choices, unit, help};
}
constexpr sy_option bool_option(const char* key, const char* fallback, const char* help) {
  return option(SY_T_BOOL, key, fallback, 1, 0, nullptr, help);
}
constexpr sy_option i64_option(const char* key, const char* fallback, double min, double max, const char* help,
                               const char* unit = nullptr) {
  return option(SY_T_I64, key, fallback, min, max, nullptr, help, unit);
}
constexpr sy_option f64_option(const char* key, const char* fallback, double min, double max, const char* help,
                               const char* unit = nullptr) {
  return option(SY_T_F64, key, fallback, min, max, nullptr, help, unit);
}
constexpr sy_option str_option(const char* key, const char* fallback, const char* const* choices, const char* help) {
  return option(SY_T_STR, key, fallback, 1, 0, choices, help);
}

/// Typed getters of one checked table. [ctl]
class config {
 public:
  explicit config(const sy_config* table) : table_(table) {}
  bool flag(const char* key) const { return one<int32_t>(host()->cfg_bool, key) != 0; }
  int64_t i64(const char* key) const { return one<int64_t>(host()->cfg_i64, key); }
  double f64(const char* key) const { return one<double>(host()->cfg_f64, key); }
  std::string str(const char* key) const { return one<const char*>(host()->cfg_str, key); }
  /// The word that stands in place of a number (an option with choices); "": a number does.
  std::string word(const char* key) const { return one<const char*>(host()->cfg_str, key); }
  std::vector<int64_t> i64s(const char* key) const { return many<int64_t, int64_t>(host()->cfg_i64_at, key); }
  std::vector<double> f64s(const char* key) const { return many<double, double>(host()->cfg_f64_at, key); }
  std::vector<std::string> strs(const char* key) const { return many<const char*, std::string>(host()->cfg_str_at, key); }
  bool given(const char* key) const { return host()->cfg_given(table_, key) != 0; }

 private:
  template <class T, class Get>
  T one(Get get, const char* key) const {
    T value{};
    check(get(table_, key, &value, nullptr), std::string("option '") + key + "' was not published");
    return value;
  }
  template <class Raw, class T, class Get>
  std::vector<T> many(Get get, const char* key) const {
    const auto count = one<uint32_t>(host()->cfg_count, key);
    std::vector<T> all;
    for (uint32_t i = 0; i < count; ++i) {
      Raw value{};
      check(get(table_, key, i, &value, nullptr), std::string("option '") + key + "' has an item of another type");
      all.emplace_back(value);
    }
    return all;
  }
  const sy_config* table_;
};

template <class P>
constexpr uint32_t option_count() {
  if constexpr (requires { P::options; }) return static_cast<uint32_t>(std::size(P::options));
  return 0;
}
template <class P>
struct option_pointers {
  template <std::size_t... I>
  static constexpr auto make(std::index_sequence<I...>) {
    struct list {
      const sy_option* at[sizeof...(I) + 1];
    };
    if constexpr (sizeof...(I) > 0) return list{{&P::options[I]..., nullptr}};
    else return list{{nullptr}};
  }
  static constexpr auto value = make(std::make_index_sequence<option_count<P>()>{});
};

// ---- types, tensors ------------------------------------------------------------------------------------------------

inline constexpr sy_dtype f32{SY_FLOAT, 32, 1}, f16{SY_FLOAT, 16, 1}, bf16{SY_BFLOAT, 16, 1}, f64{SY_FLOAT, 64, 1};
inline constexpr sy_dtype i64{SY_INT, 64, 1}, i32{SY_INT, 32, 1}, u8{SY_UINT, 8, 1};
constexpr bool same(sy_dtype a, sy_dtype b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
constexpr bool is_float(sy_dtype t) { return t.code == SY_FLOAT || t.code == SY_BFLOAT; }

inline int64_t count(const sy_view& v) {
  int64_t n = 1;
  for (int32_t i = 0; i < v.ndim; ++i) n *= v.shape[i];
  return n;
}
template <class T = void>
T* data(const sy_view& v) {
  return reinterpret_cast<T*>(static_cast<char*>(v.data) + v.byte_offset);
}

/// A counted reference to a tensor of the core's.
class tensor {
 public:
  tensor() = default;
  /// Takes over one count.
  static tensor adopt(sy_tensor* t) { tensor r; r.t_ = t; return r; }
  /// Adds one count.
  static tensor keep(sy_tensor* t) { if (t) host()->tensor_keep(t); return adopt(t); }
  tensor(const tensor& o) : tensor(keep(o.t_)) {}
  tensor(tensor&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
  tensor& operator=(tensor o) noexcept { std::swap(t_, o.t_); return *this; }
  ~tensor() { if (t_) host()->tensor_drop(t_); }
  sy_tensor* get() const { return t_; }
  /// Gives the count away, e.g. into an output slot.
  sy_tensor* give() && { return std::exchange(t_, nullptr); }
  const sy_view& view() const { return *host()->tensor_view(t_); }
  template <class T = void>
  T* data() const { return sy::data<T>(view()); }
  explicit operator bool() const { return t_ != nullptr; }

 private:
  sy_tensor* t_ = nullptr;
};

/// New contiguous host memory of this shape, charged to the call's device; for layers that compute on the CPU by hand.
inline tensor new_host_tensor(const sy_call& call, std::vector<int64_t> shape, sy_dtype dtype) {
  struct block {
    void* memory = nullptr;
    int64_t bytes = 0;
    const sy_origin* origin = nullptr;
    static void drop(void* self) {
      auto* b = static_cast<block*>(self);
      host()->free(host()->self, b->memory);
      if (b->bytes) host()->charge(host()->self, b->origin, -b->bytes, nullptr);
      delete b;
    }
  };
  std::vector<int64_t> strides(shape.size());
  int64_t n = 1;
  for (std::size_t i = shape.size(); i-- > 0; n *= shape[i]) strides[i] = n;
  auto b = std::make_unique<block>();
  const int64_t bytes = n * dtype.bits / 8;
  check(host()->charge(host()->self, call.origin, bytes, nullptr), "over the memory budget of the device");
  b->bytes = bytes;
  b->origin = call.origin;
  b->memory = host()->alloc(host()->self, static_cast<uint64_t>(bytes > 0 ? bytes : 1), 256);
  if (!b->memory) {
    block::drop(b.release());
    throw std::bad_alloc();
  }
  const sy_view view{b->memory, call.device, static_cast<int32_t>(shape.size()), dtype, shape.data(), strides.data(), 0};
  sy_tensor* made = nullptr;
  check(host()->tensor_wrap(host()->self, &view, b.release(), block::drop, &made, nullptr), "no tensor could be made");
  return tensor::adopt(made);
}

// ---- layers --------------------------------------------------------------------------------------------------------

using ports = std::span<sy_port* const>;
using const_ports = std::span<const sy_port* const>;

/// One output of a layer.
struct port {
  std::vector<int64_t> shape; // shape[0] = rows
  sy_dtype dtype{};
  bool differentiable = true;
};
inline std::vector<int64_t> shape_of(const sy_port& p) { return {p.shape, p.shape + p.ndim}; }
inline port like(const sy_port& p) { return {shape_of(p), p.dtype, true}; }
inline uint64_t bytes_of(const sy_port& p) {
  uint64_t n = p.dtype.bits / 8;
  for (int32_t i = 0; i < p.ndim; ++i) n *= static_cast<uint64_t>(p.shape[i]);
  return n;
}

/// A declared parameter, buffer or accumulator; see sy_param.
struct param {
  std::string name;
  std::vector<int64_t> shape;
  std::string init = "zeros";
  uint32_t kind = SY_WEIGHT;
  uint32_t dtype_class = SY_CLASS_COMPUTE;
  uint32_t flags = 0;
  std::string tied_to = {};
  sy_dtype dtype = f32; // SY_CLASS_GIVEN only
};

/// See sy_cost.
struct cost {
  double flops_forward = 0, flops_input = 0, flops_weight = 0;
  uint64_t bytes_saved = 0, bytes_held = 0, bytes_workspace = 0, bytes_workspace_backward = 0, keep_in = 0, keep_out = 0;
};

/// Writes `from` into the caller's struct of a growable type, within the size that the caller knows (rule R1).
template <class T>
void write_within(T* to, T from) {
  const uint32_t size = to->size < sizeof(T) ? to->size : static_cast<uint32_t>(sizeof(T));
  from.size = to->size;
  std::memcpy(static_cast<void*>(to), &from, size);
}

template <class L>
struct layer_table {
  using saved_t = typename L::saved;
  struct box {
    L layer;
    std::vector<param> declared;
    bool is_declared = false;
  };
  static box& self(sy_layer* l) { return *reinterpret_cast<box*>(l); }
  static saved_t* kept(sy_saved* s) { return reinterpret_cast<saved_t*>(s); }
  static constexpr bool splits = requires(L l, const sy_call& c, saved_t& s) { l.backward_input(c, s); };

  static sy_rc create(const sy_host*, const sy_config* c, sy_layer** give, sy_error** err) {
    return guard(err, [&] { *give = reinterpret_cast<sy_layer*>(new box{L(config(c)), {}}); });
  }
  static sy_rc infer(sy_layer* l, uint32_t kind, sy_port* const* in, uint32_t n_in, sy_port* const* out, uint32_t capacity,
                     uint32_t* n_out, sy_error** err) {
    return guard(err, [&] {
      const std::vector<port> made = self(l).layer.infer(kind, ports(in, n_in));
      *n_out = static_cast<uint32_t>(made.size());
      if (made.size() > capacity) throw fault(SY_E_RANGE, "more outputs than the caller has room for");
      for (std::size_t i = 0; i < made.size(); ++i) {
        if (made[i].shape.size() > SY_MAX_DIMS) throw fault(SY_E_ARGUMENT, "an output has more than 8 dimensions");
        sy_port p{};
        p.flags = made[i].differentiable ? uint32_t{SY_PORT_DIFFERENTIABLE} : 0u;
        p.dtype = made[i].dtype;
        p.ndim = static_cast<int32_t>(made[i].shape.size());
        for (int32_t d = 0; d < p.ndim; ++d) p.shape[d] = made[i].shape[static_cast<std::size_t>(d)];
        write_within(out[i], p);
      }
    });
  }
  static sy_rc params(sy_layer* l, uint32_t i, sy_param* out, sy_error** err) {
    box& b = self(l);
    if constexpr (requires(L x) { x.params(); }) {
      if (!b.is_declared) {
        const sy_rc rc = guard(err, [&] { b.declared = b.layer.params(); });
        if (rc != SY_OK) return rc;
        b.is_declared = true;
      }
    }
    if (i >= b.declared.size()) return SY_E_RANGE;
    return guard(err, [&] {
      const param& p = b.declared[i];
      sy_param made{};
      made.kind = p.kind, made.dtype_class = p.dtype_class, made.flags = p.flags, made.dtype = p.dtype;
      made.ndim = static_cast<int32_t>(p.shape.size());
      for (std::size_t d = 0; d < p.shape.size(); ++d) made.shape[d] = p.shape[d];
      made.name = p.name.c_str(), made.init = p.init.c_str();
      made.tied_to = p.tied_to.empty() ? nullptr : p.tied_to.c_str();
      write_within(out, made);
    });
  }
  static sy_rc cost_of(sy_layer* l, uint32_t kind, const sy_port* const* in, uint32_t n_in, sy_cost* out, sy_error** err) {
    return guard(err, [&] {
      const cost c = self(l).layer.cost(kind, const_ports(in, n_in));
      sy_cost made{};
      made.flops_forward = c.flops_forward, made.flops_input = c.flops_input, made.flops_weight = c.flops_weight;
      made.bytes_saved = c.bytes_saved, made.bytes_held = c.bytes_held, made.bytes_workspace = c.bytes_workspace;
      made.bytes_workspace_backward = c.bytes_workspace_backward, made.keep_in = c.keep_in, made.keep_out = c.keep_out;
      write_within(out, made);
    });
  }
  static sy_rc bind(sy_layer* l, const sy_binding* b, sy_error** err) {
    return guard(err, [&] {
      if constexpr (requires(L x) { x.bind(*b); }) self(l).layer.bind(*b);
    });
  }
  static sy_rc forward(sy_layer* l, const sy_call* call, sy_saved** give, sy_error** err) {
    return guard(err, [&] {
      auto s = std::make_unique<saved_t>(self(l).layer.forward(*call));
      if (!(call->flags & SY_CALL_NO_SAVE)) *give = reinterpret_cast<sy_saved*>(s.release());
    });
  }
  static sy_rc backward(sy_layer* l, const sy_call* call, sy_saved* take, sy_error** err) {
    return guard(err, [&] {
      const std::unique_ptr<saved_t> s(kept(take));
      if constexpr (splits) {
        self(l).layer.backward_input(*call, *s);
        self(l).layer.backward_weight(*call, std::move(*s));
      } else {
        self(l).layer.backward(*call, std::move(*s));
      }
    });
  }
  static sy_rc backward_input(sy_layer* l, const sy_call* call, sy_saved* lend, sy_error** err) {
    return guard(err, [&] {
      if constexpr (splits) self(l).layer.backward_input(*call, *kept(lend));
    });
  }
  static sy_rc backward_weight(sy_layer* l, const sy_call* call, sy_saved* take, sy_error** err) {
    return guard(err, [&] {
      const std::unique_ptr<saved_t> s(kept(take));
      if constexpr (splits) self(l).layer.backward_weight(*call, std::move(*s));
    });
  }
  static sy_rc finish(sy_layer* l, const sy_call* call, sy_error** err) {
    return guard(err, [&] {
      if constexpr (requires(L x) { x.finish(*call); }) self(l).layer.finish(*call);
    });
  }
  static void free_saved(sy_layer*, sy_saved* take) { delete kept(take); }
  static void destroy(sy_layer* take) { delete reinterpret_cast<box*>(take); }

  static constexpr uint32_t caps = [] {
    uint32_t all = splits ? uint32_t{SY_L_SPLIT_BACKWARD} : 0u;
    if constexpr (requires { L::caps; }) all |= L::caps;
    return all;
  }();
  static constexpr bool finishes = requires(L x, const sy_call& c) { x.finish(c); };
  static constexpr sy_layer_api table{sizeof(sy_layer_api), caps, L::id, L::help, option_pointers<L>::value.at,
                                      option_count<L>(), 0, create, infer, params, cost_of, bind, forward, backward,
                                      splits ? backward_input : nullptr, splits ? backward_weight : nullptr,
                                      finishes ? finish : nullptr, free_saved, destroy, nullptr};
};

// ---- policies, schedules: a class with a constructor from config, and place(in, out) or plan(in) ----------------------

template <class P>
struct policy_table {
  static P& self(sy_policy* p) { return *reinterpret_cast<P*>(p); }
  static sy_rc create(const sy_host*, const sy_config* c, sy_policy** give, sy_error** err) {
    return guard(err, [&] { *give = reinterpret_cast<sy_policy*>(new P(config(c))); });
  }
  static sy_rc place(sy_policy* p, const sy_place* in, sy_placed* out, sy_error** err) {
    return guard(err, [&] { self(p).place(*in, *out); });
  }
  static void destroy(sy_policy* take) { delete reinterpret_cast<P*>(take); }
  static constexpr sy_policy_api table{sizeof(sy_policy_api), 0, P::id, P::help, option_pointers<P>::value.at,
                                       option_count<P>(), 0, create, place, destroy};
};

template <class S>
struct schedule_table {
  static S& self(sy_schedule* s) { return *reinterpret_cast<S*>(s); }
  static sy_rc create(const sy_host*, const sy_config* c, sy_schedule** give, sy_error** err) {
    return guard(err, [&] { *give = reinterpret_cast<sy_schedule*>(new S(config(c))); });
  }
  static sy_rc plan(sy_schedule* s, const sy_schedule_in* in, sy_error** err) {
    return guard(err, [&] { self(s).plan(*in); });
  }
  static void destroy(sy_schedule* take) { delete reinterpret_cast<S*>(take); }
  static constexpr sy_schedule_api table{sizeof(sy_schedule_api), 0, S::id, S::help, option_pointers<S>::value.at,
                                         option_count<S>(), 0, create, plan, destroy};
};

template <class O>
struct optimizer_table {
  static O& self(sy_optimizer* o) { return *reinterpret_cast<O*>(o); }
  static sy_rc create(const sy_host*, const sy_config* c, sy_optimizer** give, sy_error** err) {
    return guard(err, [&] { *give = reinterpret_cast<sy_optimizer*>(new O(config(c))); });
  }
  static sy_rc states(sy_optimizer* o, uint32_t i, const char** lend, sy_error**) {
    const std::span<const char* const> names = self(o).states();
    if (i >= names.size()) return SY_E_RANGE;
    *lend = names[i];
    return SY_OK;
  }
  static sy_rc step(sy_optimizer* o, const sy_opt_span* span, const sy_opt_control* control, sy_stream*, void* native,
                    sy_error** err) {
    return guard(err, [&] { self(o).step(*span, *control, native); });
  }
  static sy_rc norms(sy_optimizer* o, const sy_opt_span* span, double* out, sy_stream*, void* native, sy_error** err) {
    return guard(err, [&] { self(o).norms(*span, out, native); });
  }
  static void destroy(sy_optimizer* take) { delete reinterpret_cast<O*>(take); }
  static constexpr sy_optimizer_api table{sizeof(sy_optimizer_api), 0, O::id, O::help, option_pointers<O>::value.at,
                                          option_count<O>(), 0, create, states, step, norms, destroy};
};

template <class L>
constexpr sy_export export_layer() { return {SY_KIND_LAYER, &layer_table<L>::table}; }
template <class P>
constexpr sy_export export_policy() { return {SY_KIND_POLICY, &policy_table<P>::table}; }
template <class S>
constexpr sy_export export_schedule() { return {SY_KIND_SCHEDULE, &schedule_table<S>::table}; }
template <class O>
constexpr sy_export export_optimizer() { return {SY_KIND_OPTIMIZER, &optimizer_table<O>::table}; }

inline sy_rc attach(const sy_host* table, sy_error**) {
  host() = table;
  return SY_OK;
}

}  // namespace sy

/// The plugin's one exported symbol; `exports` is a constexpr array of sy_export at namespace scope.
#define SY_DEFINE_PLUGIN(plugin_id, plugin_version, exports)                                                       \
  extern "C" SY_EXPORT constexpr sy_plugin sy_plugin_v1{SY_PLUGIN_MAGIC, sizeof(sy_plugin), SY_ABI_MAJOR, SY_ABI_MINOR, \
                                                        plugin_id, plugin_version, exports,                        \
                                                        static_cast<uint32_t>(std::size(exports)), 0, sy::attach};
