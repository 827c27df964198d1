#include "pre_norm.hpp"

#include <ATen/ops/add.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>

#include "blocks/wide.hpp"
#include "kernels/bias_gradient.hpp"

namespace sy {

normed pre_norm::forward(const sy_call& call, const bound_params& params, const at::Tensor& x,
                         const at::Tensor& residual, at::Tensor* sum) const {
  const sy_dtype type = kernels::type_of(x);
  const kernels::lane on = kernels::lane_of(call);
  if (residual.defined()) *sum = at::empty_like(x);
  if (!by_rows()) {
    if (residual.defined())
      kernels::add(on, type, x.numel(), x.const_data_ptr(), residual.const_data_ptr(), sum->data_ptr());
    const at::Tensor& from = residual.defined() ? *sum : x;
    if (declared_.is_none()) return {from, {}, {}};
    pass p{call, params, {}};
    batch_norm::statistics kept;
    at::Tensor h = batch_.forward(p, prefix_, from, kept);
    return {std::move(h), std::move(kept.mean), std::move(kept.invstd)};
  }
  const at::TensorOptions statistics = x.options().dtype(wide_type(x.scalar_type()));
  normed n{at::empty_like(x), {}, at::empty({x.size(0)}, statistics)};
  if (declared_.kind() == norm_kind::layer) n.mean = at::empty({x.size(0)}, statistics);
  kernels::norm_forward(on, size(x.size(0), x.size(1), type),
                        {.x = x.const_data_ptr(),
                         .residual = kernels::data_of(residual),
                         .sum = residual.defined() ? sum->data_ptr() : nullptr,
                         .weight = params.find(prefix_, "weight").const_data_ptr(),
                         .bias = kernels::data_of(params.find(prefix_, "bias")),
                         .y = n.h.data_ptr(),
                         .mean = n.mean.defined() ? n.mean.data_ptr() : nullptr,
                         .rstd = n.rstd.data_ptr()});
  return n;
}

at::Tensor pre_norm::backward(const sy_call& call, const bound_params& params, at::Tensor dh, const at::Tensor& x,
                              normed& n, const at::Tensor& add, kernels::sum columns) const {
  const sy_dtype type = kernels::type_of(dh);
  const kernels::lane on = kernels::lane_of(call);
  if (!by_rows()) {
    if (!declared_.is_none()) dh = batch_.backward(params, prefix_, dh, x, {n.mean, n.rstd}, true);
    n.mean.reset(), n.rstd.reset();
    if (add.defined()) kernels::add(on, type, dh.numel(), dh.const_data_ptr(), add.const_data_ptr(), dh.data_ptr());
    if (columns) {
      const at::Tensor scratch = kernels::scratch(kernels::column_sum_scratch(on, type, dh.size(0), dh.size(1)), dh);
      kernels::column_sum(on, type, dh.size(0), dh.size(1), dh.const_data_ptr(), columns, kernels::data_of(scratch));
    }
    return dh;
  }
  const kernels::norm_size s = size(dh.size(0), dh.size(1), type);
  const at::Tensor scratch = kernels::scratch(kernels::norm_backward_scratch(on, s), dh);
  kernels::norm_backward(on, s,
                         {.dy = dh.const_data_ptr(),
                          .x = x.const_data_ptr(),
                          .weight = params.find(prefix_, "weight").const_data_ptr(),
                          .mean = kernels::data_of(n.mean),
                          .rstd = n.rstd.const_data_ptr(),
                          .add = kernels::data_of(add),
                          .dx = dh.data_ptr(),
                          .weight_gradient = kernels::sum_into(params.grad(prefix_, "weight")),
                          .bias_gradient = kernels::sum_into(params.grad(prefix_, "bias")),
                          .column_sum = columns,
                          .scratch = kernels::data_of(scratch)});
  n.mean.reset(), n.rstd.reset();
  return dh;
}

void pre_norm::finish(const sy_call& call, const bound_params& params) const {
  if (declared_.kind() != norm_kind::batch) return;
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
  if (declared_.is_none()) return 0;
  return rows * static_cast<uint64_t>(width) * width_of(t) + statistics_bytes(declared_.kind(), rows, width, t);
}

void pre_norm::walk_forward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t wide = rows * static_cast<uint64_t>(width) * wide_width(t);
  if (declared_.kind() == norm_kind::batch && is_reduced(t)) bytes.hold(2 * wide);  // fp32 copies of x and h
  bytes.take(saves(rows, width, t));
}

void pre_norm::walk_backward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t wide = rows * static_cast<uint64_t>(width) * wide_width(t);
  if (by_rows())
    bytes.hold(kernels::norm_backward_scratch({}, size(static_cast<int64_t>(rows), width, t)));
  else if (!declared_.is_none())  // LibTorch's backward holds one more tensor of the input's size
    bytes.hold(2 * wide + (is_reduced(t) ? 2 * wide : 0));
  bytes.drop(statistics_bytes(declared_.kind(), rows, width, t));
}

}  // namespace sy
