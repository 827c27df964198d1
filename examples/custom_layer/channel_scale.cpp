// channel_scale: y[..., c] = gain[c] * x[..., c], with a learned gain for each channel and a backward written by hand.
#include <switchyard/cpp/plugin.hpp>

namespace {

struct ChannelScale {
  static constexpr const char* id = "channel_scale";
  static constexpr const char* help = "multiplies each channel (the last dimension) by a learned number";
  static constexpr sy_option options[] = {sy::f64_option("start", "1.0", -1e6, 1e6, "what every gain starts from")};
  struct saved {
    sy::tensor x;  // from forward to backward
  };

  explicit ChannelScale(const sy::config& c) : start(c.f64("start")) {}

  // Output shapes for given inputs; here the width becomes known.
  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    const sy_port& x = *in[0];
    if (!sy::same(x.dtype, sy::f32))
      throw sy::fault(SY_E_CONFIG, "channel_scale computes in fp32: add it to precision.keep_fp32");
    width = x.shape[x.ndim - 1];
    return {sy::like(x)};
  }
  std::vector<sy::param> params() const {
    return {{.name = "gain", .shape = {width}, .init = "constant(" + std::to_string(start) + ")"}};
  }
  // For plans. keep_in: the core keeps input 0 unchanged until backward, and counts it.
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const double n = static_cast<double>(sy::bytes_of(*in[0])) / sizeof(float);
    return {.flops_forward = n, .flops_input = n, .flops_weight = 2 * n, .keep_in = 1};
  }
  // The core owns parameters and gradients; their addresses stay.
  void bind(const sy_binding& b) {
    if (b.device.type != SY_DEVICE_CPU) throw sy::fault(SY_E_UNIMPLEMENTED, "channel_scale computes on CPUs only");
    gain = sy::data<float>(*b.values[0]);
    gain_grad = b.grads[0] ? sy::data<float>(*b.grads[0]) : nullptr;  // NULL: not trained
  }

  saved forward(const sy_call& call) {
    sy::tensor x = sy::tensor::keep(call.in[0]);
    sy::tensor y = sy::new_host_tensor(call, shape(x), sy::f32);
    for (int64_t i = 0; i < sy::count(x.view()); ++i) y.data<float>()[i] = gain[i % width] * x.data<float>()[i];
    call.out[0] = std::move(y).give();
    return {std::move(x)};
  }

  // call.in: gradients of the outputs, call.out: those of the inputs, where call.want has their bit.
  void backward(const sy_call& call, saved&& kept) {
    const sy::tensor dy = sy::tensor::keep(call.in[0]);
    if (!dy) return;  // nothing flows back
    const int64_t n = sy::count(dy.view());
    if (gain_grad)
      for (int64_t i = 0; i < n; ++i) gain_grad[i % width] += dy.data<float>()[i] * kept.x.data<float>()[i];
    if (!(call.want & 1)) return;
    sy::tensor dx = sy::new_host_tensor(call, shape(dy), sy::f32);
    for (int64_t i = 0; i < n; ++i) dx.data<float>()[i] = gain[i % width] * dy.data<float>()[i];
    call.out[0] = std::move(dx).give();
  }

 private:
  static std::vector<int64_t> shape(const sy::tensor& t) { return {t.view().shape, t.view().shape + t.view().ndim}; }

  double start;
  int64_t width = 0;
  const float* gain = nullptr;
  float* gain_grad = nullptr;
};

}  // namespace

SY_PLUGIN_NOTE("org.example.channel_scale");
static constexpr sy_export exports[] = {sy::export_layer<ChannelScale>()};
SY_DEFINE_PLUGIN("org.example.channel_scale", "1.0", exports)
