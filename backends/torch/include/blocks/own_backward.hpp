// What layers with a backward of their own have in common.
#pragma once

#include <ATen/ops/zeros.h>

#include "switchyard/cpp/torch.hpp"

namespace sy {

inline bool wants(const sy_call& call, uint32_t input = 0) { return call.want >> input & 1; }

/// x [..., width] as a matrix.
inline at::Tensor as_rows(const at::Tensor& x) { return x.view({-1, x.size(-1)}); }
/// The shape of x with another last dimension.
inline std::vector<int64_t> with_width(const at::Tensor& x, int64_t width) {
  std::vector<int64_t> shape = x.sizes().vec();
  shape.back() = width;
  return shape;
}

/// The gradient of output 0; undefined when none flows, and input 0's gradient, where wanted, has been given as zeros
/// of its shape and type.
inline at::Tensor arriving(const sy_call& call, at::IntArrayRef input_shape, const at::TensorOptions& input) {
  if (call.in[0]) return borrow(call.in[0]).contiguous();
  if (wants(call)) call.out[0] = lend(at::zeros(input_shape, input), call);
  return {};
}
inline at::Tensor arriving(const sy_call& call, const at::Tensor& x) { return arriving(call, x.sizes(), x.options()); }

}  // namespace sy
