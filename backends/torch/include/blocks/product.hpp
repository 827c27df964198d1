// The products of a linear map y = x W^T + b and of its backward, for layers whose backward is written by hand.
//
// x [rows, in], W [out, in], b [out], y [rows, out]: all matrices, of one type, contiguous or transposed. What is
// called _out writes into a tensor that is there.
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// bias: undefined is none. add: undefined, or [rows, out] to be added to y.
SY_EXPORT at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias,
                             const at::Tensor& add = {});
/// Whether `add` costs no pass of its own: on CUDA in 16 bits.
SY_EXPORT bool adds_inside(const at::Tensor& x);
SY_EXPORT void product_out(at::Tensor y, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias);

/// dx = dy W.
SY_EXPORT at::Tensor product_backward(const at::Tensor& dy, const at::Tensor& weight);
SY_EXPORT void product_backward_out(at::Tensor dx, const at::Tensor& dy, const at::Tensor& weight);
/// dx += dy W: the gradient of an x that goes into several products.
SY_EXPORT void add_product_backward(at::Tensor dx, const at::Tensor& dy, const at::Tensor& weight);

/// grad [out, in] += dy^T x; undefined: nothing. The sum is made inside the product where grad has the operands' type, and on CUDA where it
/// is fp32; else in parts of add_product_scratch() bytes.
SY_EXPORT void add_product(at::Tensor grad, const at::Tensor& dy, const at::Tensor& x);

/// Most elements of the temporary product that add_product holds: whole rows of the weight, at least one.
constexpr int64_t add_product_part(int64_t out, int64_t in) {
  constexpr int64_t most = 1 << 22;
  const int64_t rows = in < most ? most / (in > 0 ? in : 1) : 1;
  return (rows < out ? rows : out) * in;
}
/// Bytes that add_product takes on the CPU for operands of `bits` into an fp32 gradient: of a reduced type's product,
/// and of the fp32 copy that its addition makes.
constexpr uint64_t add_product_scratch(int64_t out, int64_t in, uint64_t bits) {
  return bits == 16 ? static_cast<uint64_t>(add_product_part(out, in)) * (2 + 4) : 0;
}

}  // namespace sy
