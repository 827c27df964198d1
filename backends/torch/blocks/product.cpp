#include "blocks/product.hpp"

#include <ATen/ops/addmm.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#include "blocks/wide.hpp"

namespace sy {

at::Tensor product(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  return bias.defined() ? at::addmm(bias, x, weight.t()) : at::mm(x, weight.t());
}

void product_out(at::Tensor y, const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias) {
  if (bias.defined())
    at::addmm_out(y, bias, x, weight.t());
  else
    at::mm_out(y, x, weight.t());
}

at::Tensor product_backward(const at::Tensor& dy, const at::Tensor& weight) { return at::mm(dy, weight); }

void product_backward_out(at::Tensor dx, const at::Tensor& dy, const at::Tensor& weight) { at::mm_out(dx, dy, weight); }

void add_product_backward(at::Tensor dx, const at::Tensor& dy, const at::Tensor& weight) { dx.addmm_(dy, weight); }

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
  if (grad.scalar_type() == x.scalar_type())
    grad.addmm_(dy.t(), x);
  else if (x.is_cuda() && grad.scalar_type() == at::kFloat && is_reduced(x.scalar_type()))
    at::addmm_out(grad, grad, dy.t(), x, at::kFloat);
  else
    add_product_in_parts(grad, dy, x);
}

}  // namespace sy
