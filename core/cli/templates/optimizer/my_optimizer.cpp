// my_optimizer: gradient descent with momentum.   m = momentum * m + g + weight_decay * w,   w = w - lr * m
#include <switchyard/cpp/float16.hpp>
#include <switchyard/cpp/plugin.hpp>

namespace {

float gradient(const sy_opt_span& span, uint64_t i) {
  if (span.grad_dtype.code == SY_FLOAT) return static_cast<const float*>(span.grad)[i];
  return sy::float16::from_bf16(static_cast<const uint16_t*>(span.grad)[i]);
}

/// Where weights are computed in a 16-bit type, the core keeps them twice.
void write_copy(const sy_opt_span& span, uint64_t i) {
  if (!span.copy) return;
  const float w = span.value[i];
  static_cast<uint16_t*>(span.copy)[i] =
      span.copy_dtype.code == SY_BFLOAT ? sy::float16::to_bf16(w) : sy::float16::to_f16(w);
}

struct Optimizer {
  static constexpr const char* id = "my_optimizer";
  static constexpr const char* help = "gradient descent with momentum";
  static constexpr sy_option options[] = {
      sy::f64_option("momentum", "0.9", 0, 1, "share of the step before that is kept"),
      sy::f64_option("weight_decay", "0.0", 0, 1e9, "times the weight, added to its gradient"),
  };
  explicit Optimizer(const sy::config& c)
      : momentum(static_cast<float>(c.f64("momentum"))), weight_decay(static_cast<float>(c.f64("weight_decay"))) {}

  /// One fp32 value per weight each, zero at the start, saved with the model.
  std::span<const char* const> states() const {
    static constexpr const char* names[] = {"momentum"};
    return names;
  }

  void step(const sy_opt_span& span, const sy_opt_control& control, void*) const {
    if (span.device.type != SY_DEVICE_CPU) throw sy::fault(SY_E_UNIMPLEMENTED, "my_optimizer computes on CPUs only");
    if (control.skip) return;
    const auto scale = static_cast<float>(control.inv_scale * control.clip_factor);
    for (uint32_t s = 0; s < span.n_segments; ++s) {
      const sy_opt_segment& segment = *span.segments[s];
      const auto lr = static_cast<float>(control.lr * segment.lr_scale);
      const auto pull = static_cast<float>(weight_decay * segment.decay);
      for (uint64_t i = segment.offset; i < segment.offset + segment.count; ++i) {
        float& m = span.states[0][i];
        m = momentum * m + gradient(span, i) * scale + pull * span.value[i];
        span.value[i] -= lr * m;
        write_copy(span, i);
      }
    }
  }

  /// Sum of squared gradients of each segment, for clipping.
  void norms(const sy_opt_span& span, double* out, void*) const {
    for (uint32_t s = 0; s < span.n_segments; ++s) {
      out[s] = 0;
      for (uint64_t i = 0; i < span.segments[s]->count; ++i) {
        const double g = gradient(span, span.segments[s]->offset + i);
        out[s] += g * g;
      }
    }
  }

 private:
  float momentum, weight_decay;
};

}  // namespace

SY_PLUGIN_NOTE("my_optimizer");
static constexpr sy_export exports[] = {sy::export_optimizer<Optimizer>()};
SY_DEFINE_PLUGIN("my_optimizer", "0.1", exports)
