// my_layer: y[..., c] = gain[c] * x[..., c], of LibTorch operators; autograd makes the backward.
#include <switchyard/cpp/torch.hpp>

namespace {

struct Layer {
  static constexpr const char* id = "my_layer";
  static constexpr const char* help = "multiplies each channel (the last dimension) by a learned number";
  static constexpr sy_option options[] = {sy::f64_option("start", "1.0", -1e6, 1e6, "what every gain starts from")};
  explicit Layer(const sy::config& c) : start(c.f64("start")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    width = in[0]->shape[in[0]->ndim - 1];
    return {sy::like(*in[0])};
  }
  std::vector<sy::param> params() const { return {{"gain", {width}, "constant(" + std::to_string(start) + ")"}}; }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const uint64_t bytes = sy::bytes_of(*in[0]);
    const double n = static_cast<double>(bytes) * 8 / in[0]->dtype.bits;
    return {
        .flops_forward = n, .flops_input = n, .flops_weight = 2 * n, .bytes_workspace_backward = bytes, .keep_in = 1};
  }
  at::Tensor forward(sy::pass& p) { return p.in(0) * p["gain"]; }

  double start;
  int64_t width = 0;
};

}  // namespace

SY_PLUGIN_NOTE("my_layer");
static constexpr sy_export exports[] = {sy::export_torch_layer<sy::torch_layer<Layer>>()};
SY_DEFINE_TORCH_PLUGIN("my_layer", "0.1", exports)
