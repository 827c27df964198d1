// torch_scale: the same layer of LibTorch operators, on any device; LibTorch's autograd makes the backward.
#include <switchyard/cpp/torch.hpp>

namespace {

struct TorchScale {
  static constexpr const char* id = "torch_scale";
  static constexpr const char* help = "multiplies each channel (the last dimension) by a learned number";
  static constexpr sy_option options[] = {sy::f64_option("start", "1.0", -1e6, 1e6, "what every gain starts from")};

  explicit TorchScale(const sy::config& c) : start(c.f64("start")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    width = in[0]->shape[in[0]->ndim - 1];
    return {sy::like(*in[0])};
  }
  std::vector<sy::param> params() const {
    return {{.name = "gain", .shape = {width}, .init = "constant(" + std::to_string(start) + ")"}};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const uint64_t bytes = sy::bytes_of(*in[0]);
    const double n = static_cast<double>(bytes) * 8 / in[0]->dtype.bits;
    return {.flops_forward = n,
            .flops_input = n,
            .flops_weight = 2 * n,
            .bytes_workspace_backward = bytes,  // dy * x, before it is summed
            .keep_in = 1};
  }
  at::Tensor forward(sy::pass& p) { return p.in(0) * p["gain"]; }

  double start;
  int64_t width = 0;
};

}  // namespace

SY_PLUGIN_NOTE("org.example.torch_scale");
static constexpr sy_export exports[] = {sy::export_torch_layer<sy::torch_layer<TorchScale>>()};
SY_DEFINE_TORCH_PLUGIN("org.example.torch_scale", "1.0", exports)
