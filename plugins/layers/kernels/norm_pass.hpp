// LayerNorm and RMSNorm of LibTorch tensors.
#pragma once

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "row_norm.hpp"
#include "tensors.hpp"

namespace sy::kernels {

/// What the backward needs besides the input; mean undefined for rms.
struct norm_statistics {
  at::Tensor mean, rstd;
};
struct norm_weights {
  at::Tensor weight, bias;  // bias undefined: none
};

inline norm_size size_of(const at::Tensor& x, norm_rule rule, double eps) {
  return {x.numel() / x.size(-1), x.size(-1), type_of(x), rule, eps};
}

/// y of x [..., width]; both statistics go to `kept`. residual, when defined: of x + residual, which goes into `sum`.
inline at::Tensor norm_of(const sy_call& call, norm_rule rule, double eps, const at::Tensor& x, const norm_weights& w,
                          norm_statistics& kept, const at::Tensor& residual = {}, const at::Tensor& sum = {}) {
  const norm_size size = size_of(x, rule, eps);
  const at::TensorOptions wide_options = x.options().dtype(to_torch(wide(size.type)));
  at::Tensor y = at::empty_like(x);
  if (rule == norm_rule::layer) kept.mean = at::empty({size.rows}, wide_options);
  kept.rstd = at::empty({size.rows}, wide_options);
  norm_forward_data data{};
  data.x = x.data_ptr(), data.y = y.data_ptr();
  data.weight = w.weight.data_ptr(), data.bias = data_of(w.bias);
  data.mean = data_of(kept.mean), data.rstd = kept.rstd.data_ptr();
  data.residual = data_of(residual), data.sum = data_of(sum);
  norm_forward(lane_of(call), size, data);
  return y;
}

/// Adds to the gradients of the weights; dx: where the gradient of x goes, undefined: not wanted. add, when defined, is
/// added to it; its column sums are added to `columns`.
inline void norm_back(const sy_call& call, norm_rule rule, double eps, const at::Tensor& dy, const at::Tensor& x,
                      const norm_weights& w, const norm_statistics& kept, const norm_weights& gradients,
                      const at::Tensor& dx, const at::Tensor& add = {}, kernels::sum columns = {}) {
  const norm_size size = size_of(x, rule, eps);
  const lane on = lane_of(call);
  const at::Tensor room = scratch(norm_backward_scratch(on, size), x);
  norm_backward_data data{};
  data.dy = dy.data_ptr(), data.x = x.data_ptr(), data.weight = w.weight.data_ptr();
  data.mean = data_of(kept.mean), data.rstd = kept.rstd.data_ptr();
  data.dx = data_of(dx), data.add = data_of(add), data.column_sum = columns;
  data.weight_gradient = sum_into(gradients.weight), data.bias_gradient = sum_into(gradients.bias);
  data.scratch = data_of(room);
  norm_backward(on, size, data);
}

inline uint64_t norm_statistics_bytes(norm_rule rule, sy_dtype type, uint64_t rows) {
  return rows * (wide(type).bits / 8) * (rule == norm_rule::layer ? 2 : 1);
}
inline uint64_t norm_back_scratch(norm_rule rule, sy_dtype type, uint64_t rows, int64_t width) {
  return norm_backward_scratch({}, {static_cast<int64_t>(rows), width, type, rule, 0});
}

}  // namespace sy::kernels
