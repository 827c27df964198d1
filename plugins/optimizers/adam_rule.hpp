// Adam (Kingma and Ba, 2015) and AdamW (Loshchilov and Hutter, 2019), in PyTorch's order of operations:
//
//   Adam   g = g + weight_decay * w            AdamW   w = w * (1 - lr * weight_decay)
//   m = m + (1 - beta1) * (g - m)
//   v = beta2 * v + (1 - beta2) * g * g
//   w = w - lr / (1 - beta1^t) * m / (sqrt(v) / sqrt(1 - beta2^t) + eps)
//
// fp32 throughout; the factors that are constant in a step are made in double and rounded once.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "flat_update.hpp"

namespace sy::opt {

struct adam_settings {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
  bool decoupled = false;  // AdamW

  adam_settings(const config& c, bool is_decoupled)
      : eps(c.f64("eps")), weight_decay(c.f64("weight_decay")), decoupled(is_decoupled) {
    const std::vector<double> betas = c.f64s("betas");
    if (betas.size() != 2 || !(betas[0] >= 0 && betas[0] < 1 && betas[1] >= 0 && betas[1] < 1))
      throw fault(SY_E_CONFIG, "betas: expected two numbers from 0 to below 1, such as [0.9, 0.999]");
    beta1 = betas[0];
    beta2 = betas[1];
  }
};

class adam_rule {
 public:
  explicit adam_rule(const adam_settings& s) : s_(s) {}

  void begin(const segment_terms& t) {
    const auto step = static_cast<double>(t.step);
    const double decay = s_.weight_decay * t.decay;
    shrink_ = s_.decoupled && decay != 0 ? static_cast<float>(1 - t.lr * decay) : 1.0f;
    pull_ = s_.decoupled ? 0.0f : static_cast<float>(decay);
    step_size_ = static_cast<float>(-t.lr / (1 - std::pow(s_.beta1, step)));
    root_correction_ = static_cast<float>(std::sqrt(1 - std::pow(s_.beta2, step)));
  }

  void operator()(float* __restrict w, const float* __restrict grad, float* const* states, int64_t n) const {
    float* __restrict m = states[0];
    float* __restrict v = states[1];
    const float shrink = shrink_, pull = pull_, step_size = step_size_, root_correction = root_correction_;
    const auto eps = static_cast<float>(s_.eps), beta2 = static_cast<float>(s_.beta2);
    const auto new_m = static_cast<float>(1 - s_.beta1), new_v = static_cast<float>(1 - s_.beta2);
    const bool from_old = new_m < 0.5f;  // the two forms of a linear interpolation, each exact at its own end
    const float old_m = 1.0f - new_m;
    for (int64_t i = 0; i < n; ++i) {
      const float start = w[i] * shrink;
      const float g = pull == 0.0f ? grad[i] : grad[i] + pull * start;
      const float difference = g - m[i];
      m[i] = from_old ? m[i] + new_m * difference : g - difference * old_m;
      v[i] = v[i] * beta2 + new_v * g * g;
      w[i] = start + step_size * m[i] / (std::sqrt(v[i]) / root_correction + eps);
    }
  }

 private:
  adam_settings s_;
  float shrink_ = 1, pull_ = 0, step_size_ = 0, root_correction_ = 1;
};

inline constexpr const char* adam_states[] = {"exp_avg", "exp_avg_sq"};

/// Adam and AdamW are this class with an id, a help line, options, and `decoupled`.
template <class Kind>
class adam_like {
 public:
  static constexpr const char* id = Kind::id;
  static constexpr const char* help = Kind::help;
  static constexpr sy_option options[] = {
      option(SY_T_F64S, "betas", "[0.9, 0.999]", 0, 1, nullptr, "decay of the running means of gradient and square"),
      f64_option("eps", "1e-8", 0, 1, "added to the root of the mean square"),
      f64_option("weight_decay", Kind::weight_decay, 0, 1e9, Kind::decay_help),
  };

  explicit adam_like(const config& c) : settings_(c, Kind::decoupled) {}
  std::span<const char* const> states() const { return adam_states; }
  void step(const sy_opt_span& span, const sy_opt_control& control, [[maybe_unused]] void* stream) const {
    if (!on_gpu(span)) return update(span, control, adam_rule(settings_), 2);
#ifdef SWITCHYARD_WITH_CUDA
    const cuda::AdamSettings s{settings_.beta1, settings_.beta2, settings_.eps, settings_.weight_decay,
                               settings_.decoupled};
    on_stream(span, id, [&] { return cuda::step(span, &control, s, stream); });
#endif
  }
  void norms(const sy_opt_span& span, double* out, void* stream) const { squared_norms(span, out, stream); }

 private:
  adam_settings settings_;
};

}  // namespace sy::opt
