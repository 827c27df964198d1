// linear as LibTorch's autograd does it.
#pragma once

#include <ATen/ops/linear.h>

#include "../dense/linear_form.hpp"

namespace sy {

struct linear_autograd : linear_form {
  static constexpr const char* id = "linear_autograd";
  static constexpr const char* help =
      "linear by LibTorch's autograd: y = x W^T + b over the last dimension; weight [out, in], bias [out]";
  using linear_form::linear_form;

  sy::cost cost(uint32_t kind, const_ports from) const {
    sy::cost c;
    add_linear_flops(c, rows_of(*from[0]), in, out, bias);
    if (kind != SY_TRAIN) return c;
    c.keep_in = 1;
    // the weight's gradient of this micro-batch, before it is added
    c.bytes_workspace_backward =
        gradient_bytes(static_cast<uint64_t>((in + (bias ? 1 : 0)) * out), width_of(from[0]->dtype));
    return c;
  }
  at::Tensor forward(pass& p) const { return at::linear(p.in(0), p["weight"], p["bias"]); }
};

}  // namespace sy
