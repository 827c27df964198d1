#include "pre_norm.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "blocks/wide.hpp"
#include "kernels/bias_gradient.hpp"

namespace sy {

normed pre_norm::forward(const sy_call& call, const bound_params& params, const at::Tensor& x,
                         const at::Tensor& residual, at::Tensor* sum) const {
  if (residual.defined()) *sum = at::empty_like(x);
  const at::Tensor& from = residual.defined() ? *sum : x;
  if (by_rows()) {
    normed n;
    n.h = kernels::norm_of(call, rule(), eps_, x, {params.find(prefix_, "weight"), params.find(prefix_, "bias")},
                           n.statistics, residual, residual.defined() ? *sum : at::Tensor());
    return n;
  }
  if (residual.defined())
    kernels::add(kernels::lane_of(call), kernels::type_of(x), x.numel(), x.const_data_ptr(), residual.const_data_ptr(),
                 sum->data_ptr());
  if (kind_ == norm_kind::none) return {from, {}};
  pass p{call, params, {}};
  batch_norm::statistics kept;
  at::Tensor h = batch_.forward(p, prefix_, from, kept);
  return {std::move(h), {std::move(kept.mean), std::move(kept.invstd)}};
}

at::Tensor pre_norm::backward(const sy_call& call, const bound_params& params, at::Tensor dh, const at::Tensor& x,
                              normed& n, const at::Tensor& add, const at::Tensor& columns) const {
  const kernels::norm_statistics kept = std::exchange(n.statistics, {});
  if (by_rows()) {
    kernels::norm_back(call, rule(), eps_, dh, x, {params.find(prefix_, "weight"), {}}, kept,
                       {params.grad(prefix_, "weight"), params.grad(prefix_, "bias")}, dh, add,
                       kernels::sum_into(columns));
    return dh;
  }
  if (kind_ != norm_kind::none) dh = batch_.backward(params, prefix_, dh, x, {kept.mean, kept.rstd}, true);
  if (add.defined())
    kernels::add(kernels::lane_of(call), kernels::type_of(dh), dh.numel(), dh.const_data_ptr(), add.const_data_ptr(),
                 dh.data_ptr());
  kernels::add_bias_gradient(call, columns, dh);
  return dh;
}

void pre_norm::finish(const sy_call& call, const bound_params& params) const {
  if (kind_ != norm_kind::batch) return;
  pass p{call, params, {}};
  batch_.finish(p, prefix_);
}

// ---- costs --------------------------------------------------------------------------------------------------------

namespace {

uint64_t statistics_bytes(norm_kind kind, uint64_t rows, int64_t width, sy_dtype t) {
  switch (kind) {
    case norm_kind::layer:
      return 2 * rows * wide_width(t);
    case norm_kind::rms:
      return rows * wide_width(t);
    case norm_kind::batch:
      return 2 * static_cast<uint64_t>(width) * wide_width(t);
    case norm_kind::none:
      return 0;
  }
  return 0;
}

}  // namespace

uint64_t pre_norm::saves(uint64_t rows, int64_t width, sy_dtype t) const {
  if (kind_ == norm_kind::none) return 0;
  return rows * static_cast<uint64_t>(width) * width_of(t) + statistics_bytes(kind_, rows, width, t);
}

void pre_norm::walk_forward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t wide = rows * static_cast<uint64_t>(width) * wide_width(t);
  if (kind_ == norm_kind::batch && is_reduced(t)) bytes.hold(2 * wide);  // fp32 copies of x and h
  bytes.take(saves(rows, width, t));
}

void pre_norm::walk_backward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t wide = rows * static_cast<uint64_t>(width) * wide_width(t);
  if (by_rows())
    bytes.hold(kernels::norm_back_scratch(rule(), t, rows, width));
  else if (kind_ != norm_kind::none)  // LibTorch's backward holds one more tensor of the input's size
    bytes.hold(2 * wide + (is_reduced(t) ? 2 * wide : 0));
  bytes.drop(statistics_bytes(kind_, rows, width, t));
}

}  // namespace sy
