// Stochastic gradient descent, in PyTorch's order of operations:
//
//   g = g + weight_decay * w
//   b = momentum * b + (1 - dampening) * g      (first step: b = g)
//   w = w - lr * b                              (nesterov: w - lr * (g + momentum * b))

#include <span>

#include "../flat_update.hpp"

namespace {

struct settings {
  float momentum, keep, weight_decay;
  bool nesterov;
};

class sgd_rule {
 public:
  explicit sgd_rule(const settings& s) : s_(s) {}

  void begin(const sy::opt::segment_terms& t) {
    step_size_ = static_cast<float>(-t.lr);
    pull_ = static_cast<float>(s_.weight_decay * t.decay);
    first_ = t.step <= 1;
  }

  void operator()(float* w, const float* grad, float* const* states, int64_t n) const {
    if (s_.momentum == 0) return plain(w, grad, n);
    with_momentum(w, grad, states[0], n);
  }

 private:
  void plain(float* __restrict w, const float* __restrict grad, int64_t n) const {
    const float step_size = step_size_, pull = pull_;
    for (int64_t i = 0; i < n; ++i) w[i] += step_size * (pull == 0.0f ? grad[i] : grad[i] + pull * w[i]);
  }
  void with_momentum(float* __restrict w, const float* __restrict grad, float* __restrict b, int64_t n) const {
    const float step_size = step_size_, pull = pull_, momentum = s_.momentum, ahead = s_.nesterov ? momentum : 0.0f;
    const float old_b = first_ ? 0.0f : momentum, new_g = first_ ? 1.0f : s_.keep;
    for (int64_t i = 0; i < n; ++i) {
      const float g = pull == 0.0f ? grad[i] : grad[i] + pull * w[i];
      b[i] = b[i] * old_b + new_g * g;
      w[i] += step_size * (ahead == 0.0f ? b[i] : g + ahead * b[i]);
    }
  }

  settings s_;
  float step_size_ = 0, pull_ = 0;
  bool first_ = false;
};

class Sgd {
 public:
  static constexpr const char* id = "sgd";
  static constexpr const char* help = "stochastic gradient descent, with or without momentum";
  static constexpr sy_option options[] = {
      sy::f64_option("momentum", "0.0", 0, 1, "share of the step before that is kept; 0: no state is needed"),
      sy::f64_option("dampening", "0.0", 0, 1, "the gradient enters the momentum times 1 - dampening"),
      sy::bool_option("nesterov", "false", "look ahead by one momentum step; needs momentum above 0 and dampening 0"),
      sy::f64_option("weight_decay", "0.0", 0, 1e9, "times the weight, added to its gradient"),
  };

  explicit Sgd(const sy::config& c)
      : s_{static_cast<float>(c.f64("momentum")), static_cast<float>(1 - c.f64("dampening")),
           static_cast<float>(c.f64("weight_decay")), c.flag("nesterov")} {
    if (s_.nesterov && (s_.momentum == 0 || c.f64("dampening") != 0))
      throw sy::fault(SY_E_CONFIG, "nesterov = true needs momentum above 0 and dampening = 0");
  }

  std::span<const char* const> states() const {
    static constexpr const char* names[] = {"momentum_buffer"};
    return std::span<const char* const>(names, s_.momentum != 0 ? 1 : 0);
  }
  void step(const sy_opt_span& span, const sy_opt_control& control, [[maybe_unused]] void* stream) const {
    if (!sy::opt::on_gpu(span)) return sy::opt::update(span, control, sgd_rule(s_), s_.momentum != 0 ? 1 : 0);
#ifdef SWITCHYARD_WITH_CUDA
    const sy::opt::cuda::SgdSettings s{s_.momentum, s_.keep, s_.weight_decay, s_.nesterov};
    sy::opt::on_stream(span, id, [&] { return sy::opt::cuda::step(span, &control, s, stream); });
#endif
  }
  void norms(const sy_opt_span& span, double* out, void* stream) const { sy::opt::squared_norms(span, out, stream); }

 private:
  settings s_;
};

}  // namespace

SY_PLUGIN_NOTE("optimizer-sgd");
static constexpr sy_export exports[] = {sy::export_optimizer<Sgd>()};
SY_DEFINE_PLUGIN("optimizer-sgd", "0.1.0", exports)
