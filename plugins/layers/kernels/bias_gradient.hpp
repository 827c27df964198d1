// The gradient of a bias: sums over the rows of what arrives.
#pragma once

#include "columns.hpp"
#include "tensors.hpp"

namespace sy::kernels {

/// gradient [columns] += column sums of dy [rows, columns]; undefined: not wanted.
inline void add_bias_gradient(const sy_call& call, const at::Tensor& gradient, const at::Tensor& dy) {
  if (!gradient.defined()) return;
  const lane on = lane_of(call);
  const at::Tensor room = scratch(column_sum_scratch(on, type_of(dy), dy.size(0), dy.size(1)), dy);
  column_sum(on, type_of(dy), dy.size(0), dy.size(1), dy.data_ptr(), sum_into(gradient), data_of(room));
}
inline uint64_t bias_gradient_scratch(sy_dtype type, uint64_t rows, int64_t columns) {
  return column_sum_scratch({}, type, static_cast<int64_t>(rows), columns);
}

}  // namespace sy::kernels
