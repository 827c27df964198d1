// Norms over the last dimension as LibTorch's autograd does them.
#pragma once

#include "../norm/row_norm_form.hpp"

namespace sy {

template <class Form>
class row_norm_autograd : public Form {
 public:
  using Form::Form;

  sy::cost cost(uint32_t kind, const_ports in) const { return cost_of_part(*this, kind, *in[0]); }
  at::Tensor forward(pass& p) const { return this->norm_.apply(p, p.in(0)); }

  void add_flops(sy::cost& c, const sy_port& x) const { this->norm_.add_flops(c, rows_of(x), this->width_); }
  void walk_forward(tally& bytes, const sy_port& x, bool training) const {
    const uint64_t scratch = this->norm_.forward_scratch(rows_of(x), this->width_, x.dtype);
    const uint64_t saved = this->norm_.saved_bytes(rows_of(x), this->width_, x.dtype);
    bytes.take(bytes_of(x) + scratch + saved);
    bytes.drop(scratch + (training ? 0 : saved));
  }
  void walk_backward(tally& bytes, const sy_port& x) const {
    bytes.take(bytes_of(x));
    bytes.hold(this->norm_.backward_scratch(rows_of(x), this->width_, x.dtype));
  }
  bool keeps_input(sy_dtype) const { return true; }
};

struct layer_norm_autograd : row_norm_autograd<layer_norm_form> {
  static constexpr const char* id = "layer_norm_autograd";
  static constexpr const char* help =
      "layer_norm by LibTorch's autograd: LayerNorm over the last dimension; statistics in fp32";
  using row_norm_autograd::row_norm_autograd;
};

struct rms_norm_autograd : row_norm_autograd<rms_norm_form> {
  static constexpr const char* id = "rms_norm_autograd";
  static constexpr const char* help =
      "rms_norm by LibTorch's autograd: x / sqrt(mean(x^2) + eps) * weight over the last dimension; statistics in fp32";
  using row_norm_autograd::row_norm_autograd;
};

}  // namespace sy
