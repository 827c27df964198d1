// Layers written with the sugar of torch.hpp: one that is right, to show how little it takes, and some that break a
// rule.
#include <ATen/ops/ones.h>

#include "switchyard/cpp/torch.hpp"

namespace {

struct scale {
  static constexpr const char* id = "scale";
  static constexpr const char* help = "multiplies each channel by a learned number";
  explicit scale(const sy::config&) {}
  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    width = in[0]->shape[in[0]->ndim - 1];
    return {sy::like(*in[0])};
  }
  std::vector<sy::param> params() { return {{"weight", {width}, "ones"}}; }
  sy::cost cost(uint32_t, sy::const_ports) { return {.keep_in = 1}; }
  at::Tensor forward(sy::pass& p) { return p.in(0) * p["weight"]; }
  int64_t width = 0;
};

struct same_shape {
  explicit same_shape(const sy::config&) {}
  std::vector<sy::port> infer(uint32_t, sy::ports in) { return {sy::like(*in[0])}; }
  sy::cost cost(uint32_t, sy::const_ports) { return {}; }
};

struct identity : same_shape {
  static constexpr const char* id = "identity";
  static constexpr const char* help = "gives its input, which the glue must copy";
  using same_shape::same_shape;
  at::Tensor forward(sy::pass& p) { return p.in(0); }
};

struct hidden_weight : same_shape {
  static constexpr const char* id = "hidden_weight";
  static constexpr const char* help = "trains a tensor that it did not declare";
  using same_shape::same_shape;
  at::Tensor forward(sy::pass& p) { return p.in(0) * at::ones({1}, p.in(0).options()).set_requires_grad(true); }
};

struct writes_input : same_shape {
  static constexpr const char* id = "writes_input";
  static constexpr const char* help = "adds in place to its input";
  using same_shape::same_shape;
  at::Tensor forward(sy::pass& p) { return at::Tensor(p.in(0)).add_(1) * 2; }
};

struct throws_int : same_shape {
  static constexpr const char* id = "throws_int";
  static constexpr const char* help = "throws a number";
  using same_shape::same_shape;
  at::Tensor forward(sy::pass&) { throw 42; }
};

struct wrong_shapes : same_shape {
  static constexpr const char* id = "wrong_shapes";
  static constexpr const char* help = "adds what cannot be added";
  using same_shape::same_shape;
  at::Tensor forward(sy::pass& p) { return p.in(0) + at::ones({977}); }
};

}  // namespace

SY_PLUGIN_NOTE("test.wrong_layers");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::torch_layer<scale>>(),         sy::export_torch_layer<sy::torch_layer<identity>>(),
    sy::export_torch_layer<sy::torch_layer<hidden_weight>>(), sy::export_torch_layer<sy::torch_layer<writes_input>>(),
    sy::export_torch_layer<sy::torch_layer<throws_int>>(),    sy::export_torch_layer<sy::torch_layer<wrong_shapes>>(),
};
SY_DEFINE_TORCH_PLUGIN("test.wrong_layers", "1.0", exports)
