#include "blocks/product.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "../cuda_half.hpp"
#include "blocks/wide.hpp"

namespace sy {

namespace {

/// Whether cuBLASLt can be asked directly.
bool is_direct(const at::Tensor& a, const at::Tensor& b) {
  return a.is_cuda() && is_reduced(a.scalar_type()) && a.scalar_type() == b.scalar_type() && a.is_contiguous() &&
         b.is_contiguous() && a.numel() > 0 && b.numel() > 0;
}

const void* pointer(const at::Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; }

/// d [m, n] = op(a) op(b) + bias + c.
void multiply(const at::Tensor& a, bool a_transposed, const at::Tensor& b, bool b_transposed, const at::Tensor& bias,
              const at::Tensor& c, const at::Tensor& d) {
  multiply_on_gpu({.m = d.size(0),
                   .n = d.size(1),
                   .k = a.size(a_transposed ? 0 : 1),
                   .a = a.const_data_ptr(),
                   .b = b.const_data_ptr(),
                   .a_transposed = a_transposed,
                   .b_transposed = b_transposed,
                   .type = from_torch(a.scalar_type()),
                   .bias = pointer(bias),
                   .c = pointer(c),
                   .d = d.data_ptr(),
                   .d_type = from_torch(d.scalar_type())});
}

}  // namespace

at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, const at::Tensor& add) {
  if (is_direct(x, weight)) {
    at::Tensor y = at::empty({x.size(0), weight.size(0)}, x.options());
    multiply(x, false, weight, true, bias, add, y);
    return y;
  }
  at::Tensor y = bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
  return add.defined() ? y.add_(add) : y;
}

bool adds_inside(const at::Tensor& x) { return x.is_cuda() && is_reduced(x.scalar_type()); }

void product_out(at::Tensor y, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (is_direct(x, weight) && y.is_contiguous())
    multiply(x, false, weight, true, bias, {}, y);
  else if (bias.defined())
    at::addmm_out(y, bias, x, weight.t());
  else
    at::mm_out(y, x, weight.t());
}

at::Tensor product_backward(const at::Tensor& dy, const at::Tensor& weight) {
  at::Tensor dx = at::empty({dy.size(0), weight.size(1)}, dy.options());
  product_backward_out(dx, dy, weight);
  return dx;
}

void product_backward_out(at::Tensor dx, const at::Tensor& dy, const at::Tensor& weight) {
  if (is_direct(dy, weight) && dx.is_contiguous())
    multiply(dy, false, weight, false, {}, {}, dx);
  else
    at::mm_out(dx, dy, weight);
}

void add_product_backward(at::Tensor dx, const at::Tensor& dy, const at::Tensor& weight) {
  if (is_direct(dy, weight) && dx.is_contiguous())
    multiply(dy, false, weight, false, {}, dx, dx);
  else
    dx.addmm_(dy, weight);
}

namespace {

void add_product_in_parts(at::Tensor& grad, const at::Tensor& dy, const at::Tensor& x) {
  const int64_t out = grad.size(0), in = grad.size(1);
  const int64_t rows = in > 0 ? std::max<int64_t>(1, add_product_part(out, in) / in) : out;
  for (int64_t begin = 0; begin < out; begin += rows) {
    const int64_t n = std::min(rows, out - begin);
    grad.narrow(0, begin, n).add_(at::mm(dy.narrow(1, begin, n).t(), x));
  }
}

}  // namespace

void add_product(at::Tensor grad, const at::Tensor& dy, const at::Tensor& x) {
  if (!grad.defined()) return;
  const bool sums_inside = grad.scalar_type() == x.scalar_type() || grad.scalar_type() == at::kFloat;
  if (is_direct(dy, x) && grad.is_contiguous() && sums_inside)
    multiply(dy, true, x, false, {}, grad, grad);
  else if (grad.scalar_type() == x.scalar_type())
    grad.addmm_(dy.t(), x);
  else if (x.is_cuda() && grad.scalar_type() == at::kFloat && is_reduced(x.scalar_type()))
    at::addmm_out(grad, grad, dy.t(), x, at::kFloat);
  else
    add_product_in_parts(grad, dy, x);
}

}  // namespace sy
