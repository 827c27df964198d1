// Sums over the rows of a matrix, which are the gradients of biases.
#pragma once

#include "lane.hpp"

namespace sy::kernels {

/// to [columns] += column sums of x [rows, columns].
void column_sum(const lane&, sy_dtype type, int64_t rows, int64_t columns, const void* x, sum to, void* scratch);
uint64_t column_sum_scratch(const lane&, sy_dtype type, int64_t rows, int64_t columns);

/// to [rows, columns_a + columns_b + ...] = the parts beside each other; bias_gradient [all columns] += column sums.
/// Part i is [rows, columns[i]] whose row r begins at data[i] + r / inner * outer_stride[i] + r % inner *
/// inner_stride[i] + head h * head_stride[i] (in elements; each row is columns / head_width heads one after another).
/// So q, k, v gradients [batch, heads, time, head_width] of any strides become one packed gradient, inner = time. At
/// most 8 parts; scratch: column_sum_scratch bytes for all columns when there is a bias gradient.
struct packed_part {
  const void* data;
  int64_t heads;
  int64_t outer_stride, inner_stride, head_stride;
};
inline constexpr int64_t most_parts = 8;
void pack(const lane&, sy_dtype type, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
          int64_t n_parts, void* to, sum bias_gradient, void* scratch);

}  // namespace sy::kernels
