// The feed-forward network with its norm and residual, the second half of a transformer block:
//
//   x ──norm──▶ h ──up──▶ activation ──down──▶ dropout ──▶ + x          swiglu: silu(gate h) * (up h) in place of
//   activation(up h)
#pragma once

#include "../transformer/feed_forward_form.hpp"

namespace sy {

class feed_forward_part {
 public:
  feed_forward_part(const feed_forward_settings& settings, const std::string& norm_prefix, const std::string& prefix)
      : form_(settings, norm_prefix, prefix) {}

  void infer(const sy_port& x) { form_.infer(x); }
  void declare(std::vector<param>& to) const { form_.declare(to); }
  /// x [rows, width] in and out.
  at::Tensor forward(pass& p, const at::Tensor& x) const;
  void finish(pass& p) const { form_.before.finish(p); }

  void add_flops(cost& c, const sy_port& x) const { form_.add_flops(c, x); }
  /// See self_attention.
  void walk_forward(tally& bytes, const sy_port& x, bool training) const;
  void walk_backward(tally& bytes, const sy_port& x) const;
  bool keeps_input(sy_dtype t) const { return form_.before.is_none() || form_.before.keeps_input(t); }

 private:
  int64_t hidden() const { return form_.hidden(); }
  bool drops(bool training) const { return training && form_.set.dropout > 0; }

  feed_forward_form form_;
};

}  // namespace sy
