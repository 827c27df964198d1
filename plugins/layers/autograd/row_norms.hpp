// Norms over the last dimension.
#pragma once

#include "blocks/norm.hpp"

namespace sy {

/// What layer_norm and rms_norm share: one norm and nothing else.
class row_norm {
 public:
  row_norm(norm_kind kind, double eps, bool bias) : norm_(kind, eps, bias, "") {}

  std::vector<port> infer(uint32_t, ports in) {
    width_ = last_dim(*in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    norm_.declare(all, width_);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const { return cost_of_part(*this, kind, *in[0]); }
  at::Tensor forward(pass& p) const { return norm_.apply(p, p.in(0)); }

  void add_flops(sy::cost& c, const sy_port& x) const { norm_.add_flops(c, rows_of(x), width_); }
  void walk_forward(tally& bytes, const sy_port& x, bool training) const {
    const uint64_t scratch = norm_.forward_scratch(rows_of(x), width_, x.dtype);
    const uint64_t saved = norm_.saved_bytes(rows_of(x), width_, x.dtype);
    bytes.take(bytes_of(x) + scratch + saved);
    bytes.drop(scratch + (training ? 0 : saved));
  }
  void walk_backward(tally& bytes, const sy_port& x) const {
    bytes.take(bytes_of(x) + norm_.backward_scratch(rows_of(x), width_, x.dtype));
    bytes.drop(norm_.backward_scratch(rows_of(x), width_, x.dtype));
  }
  bool keeps_input(sy_dtype) const { return true; }

 private:
  norm norm_;
  int64_t width_ = 0;
};

struct layer_norm_autograd : row_norm {
  static constexpr const char* id = "layer_norm_autograd";
  static constexpr const char* help = "LayerNorm over the last dimension; statistics in fp32";
  static constexpr sy_option options[] = {
      f64_option("eps", "1e-5", 0, 1, "added to the variance"),
      bool_option("bias", "true", "add a learned bias"),
  };
  explicit layer_norm_autograd(const config& c) : row_norm(norm_kind::layer, c.f64("eps"), c.flag("bias")) {}
};

struct rms_norm_autograd : row_norm {
  static constexpr const char* id = "rms_norm_autograd";
  static constexpr const char* help = "x / sqrt(mean(x^2) + eps) * weight over the last dimension; statistics in fp32";
  static constexpr sy_option options[] = {f64_option("eps", "1e-5", 0, 1, "added to the mean of the squares")};
  explicit rms_norm_autograd(const config& c) : row_norm(norm_kind::rms, c.f64("eps"), false) {}
};

}  // namespace sy
