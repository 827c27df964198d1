#include "pre_norm.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "blocks/wide.hpp"
#include "kernels/columns.hpp"
#include "kernels/lane_of.hpp"
#include "kernels/pointwise.hpp"

namespace sy {

kernels::sum gradient_of(const at::Tensor& grad) {
  return grad.defined() ? kernels::sum{grad.data_ptr(), from_torch(grad.scalar_type())} : kernels::sum{};
}
kernels::sum gradient_of(const bound_params& params, std::string_view prefix, std::string_view name) {
  return gradient_of(params.grad(prefix, name));
}

at::Tensor scratch_of(uint64_t bytes, const at::Tensor& like) {
  return at::empty({static_cast<int64_t>(bytes)}, like.options().dtype(at::kByte));
}

void add_column_sum(const sy_call& call, const at::Tensor& x, const at::Tensor& columns) {
  if (!columns.defined()) return;
  const kernels::lane on = kernels::lane_of(call);
  const sy_dtype type = from_torch(x.scalar_type());
  const at::Tensor scratch = scratch_of(kernels::column_sum_scratch(on, type, x.size(0), x.size(1)), x);
  kernels::column_sum(on, type, x.size(0), x.size(1), x.const_data_ptr(), gradient_of(columns), scratch.data_ptr());
}

normed pre_norm::forward(const sy_call& call, const bound_params& params, const at::Tensor& x,
                         const at::Tensor& residual, at::Tensor* sum) const {
  const sy_dtype type = from_torch(x.scalar_type());
  const kernels::lane on = kernels::lane_of(call);
  if (residual.defined()) *sum = at::empty_like(x);
  if (declared_.is_none()) {
    if (!residual.defined()) return {x, {}, {}};
    kernels::add(on, type, x.numel(), x.const_data_ptr(), residual.const_data_ptr(), sum->data_ptr());
    return {*sum, {}, {}};
  }
  const at::TensorOptions statistics = x.options().dtype(wide_type(x.scalar_type()));
  normed n{at::empty_like(x), {}, at::empty({x.size(0)}, statistics)};
  if (declared_.kind() == norm_kind::layer) n.mean = at::empty({x.size(0)}, statistics);
  kernels::norm_forward(on, size(x.size(0), x.size(1), type),
                        {.x = x.const_data_ptr(),
                         .residual = data_of(residual),
                         .sum = residual.defined() ? sum->data_ptr() : nullptr,
                         .weight = params.find(prefix_, "weight").const_data_ptr(),
                         .bias = data_of(params.find(prefix_, "bias")),
                         .y = n.h.data_ptr(),
                         .mean = n.mean.defined() ? n.mean.data_ptr() : nullptr,
                         .rstd = n.rstd.data_ptr()});
  return n;
}

at::Tensor pre_norm::backward(const sy_call& call, const bound_params& params, at::Tensor dh, const at::Tensor& x,
                              normed& n, const at::Tensor& add, kernels::sum columns) const {
  const sy_dtype type = from_torch(dh.scalar_type());
  const kernels::lane on = kernels::lane_of(call);
  if (declared_.is_none()) {
    if (add.defined()) kernels::add(on, type, dh.numel(), dh.const_data_ptr(), add.const_data_ptr(), dh.data_ptr());
    if (columns) {
      const at::Tensor scratch = scratch_of(kernels::column_sum_scratch(on, type, dh.size(0), dh.size(1)), dh);
      kernels::column_sum(on, type, dh.size(0), dh.size(1), dh.const_data_ptr(), columns, scratch.data_ptr());
    }
    return dh;
  }
  const kernels::norm_size s = size(dh.size(0), dh.size(1), type);
  const at::Tensor scratch = scratch_of(kernels::norm_backward_scratch(on, s), dh);
  kernels::norm_backward(on, s,
                         {.dy = dh.const_data_ptr(),
                          .x = x.const_data_ptr(),
                          .weight = params.find(prefix_, "weight").const_data_ptr(),
                          .mean = data_of(n.mean),
                          .rstd = n.rstd.const_data_ptr(),
                          .add = data_of(add),
                          .dx = dh.data_ptr(),
                          .weight_gradient = gradient_of(params, prefix_, "weight"),
                          .bias_gradient = gradient_of(params, prefix_, "bias"),
                          .column_sum = columns,
                          .scratch = scratch.data_ptr()});
  n.mean.reset(), n.rstd.reset();
  return dh;
}

namespace {

uint64_t statistics_bytes(norm_kind kind, uint64_t rows, sy_dtype t) {
  const uint64_t one = rows * wide_width(t);
  if (kind == norm_kind::layer) return 2 * one;
  return kind == norm_kind::rms ? one : 0;
}

}  // namespace

uint64_t pre_norm::saves(uint64_t stream, uint64_t rows, sy_dtype t) const {
  return declared_.is_none() ? 0 : stream + statistics_bytes(declared_.kind(), rows, t);
}

void pre_norm::walk_backward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const {
  if (declared_.is_none()) return;
  const uint64_t scratch = kernels::norm_backward_scratch({}, size(static_cast<int64_t>(rows), width, t));
  bytes.take(scratch);
  bytes.drop(scratch + statistics_bytes(declared_.kind(), rows, t));
}

uint64_t column_scratch(uint64_t rows, int64_t columns, sy_dtype t) {
  return kernels::column_sum_scratch({}, t, static_cast<int64_t>(rows), columns);
}

}  // namespace sy
