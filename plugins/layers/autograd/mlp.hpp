// Linear layers with an activation between them as LibTorch's autograd does them.
#pragma once

#include <ATen/ops/linear.h>

#include "../dense/mlp_form.hpp"

namespace sy {

class mlp_autograd : public mlp_form {
 public:
  static constexpr const char* id = "mlp_autograd";
  static constexpr const char* help =
      "mlp by LibTorch's autograd: linear layers 0, 1, ... with an activation after each but the last; parameters "
      "0.weight, 0.bias, 1.weight, ...";
  using mlp_form::mlp_form;

  sy::cost cost(uint32_t kind, const_ports in) const {
    sy::cost c;
    const uint64_t rows = rows_of(*in[0]);
    add_flops(c, rows);
    const row_bytes bytes{rows * width_of(in[0]->dtype)};
    add_forward_bytes(c, kind, bytes);
    if (kind == SY_TRAIN) add_backward_bytes(c, bytes, width_of(in[0]->dtype));
    return c;
  }
  at::Tensor forward(pass& p) const {
    at::Tensor x = p.in(0);
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      x = at::linear(x, p(names_[i], "weight"), p(names_[i], "bias"));
      if (i + 1 < widths_.size()) x = activate(kind_, x);
    }
    return x;
  }

 private:
  void add_forward_bytes(sy::cost& c, uint32_t kind, row_bytes bytes) const {
    tally walk;
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      walk.take(bytes(widths_[i]));  // the product
      if (kind != SY_TRAIN && i > 0) walk.drop(bytes(widths_[i - 1]));
      if (i + 1 == widths_.size()) break;
      walk.take(bytes(widths_[i]));  // the activation's result
      if (kind != SY_TRAIN || !keeps_input(kind_)) walk.drop(bytes(widths_[i]));
    }
    c.bytes_workspace = walk.workspace();
    if (kind != SY_TRAIN) return;
    c.keep_in = 1;
    c.bytes_saved = static_cast<uint64_t>(walk.live) - bytes(widths_.back());
  }
  void add_backward_bytes(sy::cost& c, row_bytes bytes, uint64_t elem) const {
    tally walk;
    for (std::size_t i = widths_.size(); i-- > 0;) {
      const uint64_t weights =
          gradient_bytes(static_cast<uint64_t>((width_into(i) + (bias_ ? 1 : 0)) * widths_[i]), elem);
      walk.take(bytes(width_into(i)) + weights);
      if (i + 1 < widths_.size()) walk.drop(bytes(widths_[i]));  // the gradient that came in
      walk.drop(weights);
      if (i == 0) break;
      if (keeps_input(kind_)) walk.drop(bytes(width_into(i)));  // the linear layer's saved input
      walk.take(bytes(width_into(i)));                          // through the activation
      walk.drop(2 * bytes(width_into(i)));                      // its gradient that came in, and what it saved
    }
    c.bytes_workspace_backward = walk.workspace_besides(bytes(in_));
  }
};

}  // namespace sy
