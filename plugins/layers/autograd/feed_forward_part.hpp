// The feed-forward network with its norm and residual, the second half of a transformer block:
//
//   x ──norm──▶ h ──up──▶ activation ──down──▶ dropout ──▶ + x          swiglu: silu(gate h) * (up h) in place of
//   activation(up h)
#pragma once

#include "blocks/activation.hpp"
#include "blocks/cost.hpp"
#include "blocks/norm.hpp"

namespace sy {

inline constexpr const char* feed_forward_activations[] = {"gelu_tanh", "gelu", "silu", "relu", "swiglu", nullptr};

struct feed_forward_settings {
  explicit feed_forward_settings(const config& c);
  int64_t width, depth;
  bool residual = true, bias, gated;
  double dropout, eps;
  norm_kind kind;
  activation function;
};

class feed_forward_part {
 public:
  /// Parameters are called norm_prefix + "weight" ..., prefix + "up.weight" ...; the mask prefix + "residual".
  feed_forward_part(const feed_forward_settings& settings, const std::string& norm_prefix, const std::string& prefix);

  /// Learns the width from the input.
  void infer(const sy_port& x);
  void declare(std::vector<param>& to) const;
  /// x [rows, width] in and out.
  at::Tensor forward(pass& p, const at::Tensor& x) const;
  void finish(pass& p) const { norm_.finish(p); }

  void add_flops(cost& c, const sy_port& x) const;
  /// See self_attention.
  void walk_forward(tally& bytes, const sy_port& x, bool training) const;
  void walk_backward(tally& bytes, const sy_port& x) const;
  bool keeps_input(sy_dtype t) const { return norm_.is_none() || norm_.keeps_input(t); }

 private:
  int64_t hidden() const { return set_.width > 0 ? set_.width : 4 * width_; }
  bool drops(bool training) const { return training && set_.dropout > 0; }

  feed_forward_settings set_;
  norm norm_;
  std::string up_, gate_, down_, residual_;
  int64_t width_ = 0;
};

}  // namespace sy
