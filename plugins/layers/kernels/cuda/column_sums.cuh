// Sums of columns without atomics: a first kernel leaves sums of groups of rows in scratch memory, [groups, columns], a
// second one adds the groups in a fixed order to the gradient.
#pragma once

#include "../row_groups.hpp"
#include "elements.cuh"

namespace sy::kernels::cuda {
namespace {

/// Up to three gradients that get their sums together.
struct gradients {
  sum to[3];
};

constexpr int adding_columns = 32, adding_rows = 32;

/// to[y][c] += the sum over g of partial[y][g][c], y = blockIdx.y: a sum of every 32nd group for each thread along y, then
/// these in order.
template <class W>
__global__ void __launch_bounds__(adding_columns* adding_rows)
    add_groups(const W* partial, int64_t groups, int64_t columns, gradients all) {
  const sum to = blockIdx.y == 0 ? all.to[0] : blockIdx.y == 1 ? all.to[1] : all.to[2];
  if (!to.data) return;
  __shared__ W sums[adding_rows][adding_columns];
  const int64_t c = int64_t{blockIdx.x} * adding_columns + threadIdx.x;
  W total = 0;
  if (c < columns) {
    const W* from = partial + blockIdx.y * groups * columns + c;
#pragma unroll 8
    for (int64_t g = threadIdx.y; g < groups; g += adding_rows) total += from[g * columns];
  }
  sums[threadIdx.y][threadIdx.x] = total;
  __syncthreads();
  if (threadIdx.y != 0 || c >= columns) return;
  for (int k = 1; k < adding_rows; ++k) total += sums[k][threadIdx.x];
  const W made[1] = {total};
  add_to(to, c, made);
}

template <class W>
const char* start_adding(void* stream, const W* partial, int64_t groups, int64_t columns, const gradients& all,
                         int n_gradients) {
  const dim3 grid(parts_of(columns, adding_columns), static_cast<unsigned>(n_gradients));
  add_groups<<<grid, dim3(adding_columns, adding_rows), 0, as_stream(stream)>>>(partial, groups, columns, all);
  return started();
}

// ---- a pass over a matrix -------------------------------------------------------------------------------------------

constexpr int walk_lanes = 32, walk_rows = 8;  // threads: packets of columns x rows

constexpr row_groups walk_groups(int64_t rows) { return {rows, 64, 512}; }

/// An Op is one matrix of N columns at a time: column(c) prepares what belongs to a column, load(column, row) reads,
/// finish(column, row, loaded, values) writes and gives the values that are summed. `ahead` rows are loaded before the
/// first is finished.
template <class W, int N, bool sums, class Op>
__global__ void __launch_bounds__(walk_lanes* walk_rows)
    walk(const Op op, int64_t rows, int64_t columns, int64_t rows_each, W* partial) {
  constexpr int ahead = Op::ahead;
  const int64_t column = (int64_t{blockIdx.x} * walk_lanes + threadIdx.x) * N;
  const int64_t first = blockIdx.y * rows_each, last = first + rows_each < rows ? first + rows_each : rows;
  W total[N] = {};
  if (column < columns) {
    const auto at = op.column(column);
    for (int64_t row = first + threadIdx.y; row < last; row += walk_rows * ahead) {
      typename Op::loaded loaded[ahead];
#pragma unroll
      for (int k = 0; k < ahead; ++k)
        if (row + k * walk_rows < last) loaded[k] = op.load(at, row + k * walk_rows);
#pragma unroll
      for (int k = 0; k < ahead; ++k) {
        if (row + k * walk_rows >= last) break;
        W values[N];
        op.finish(at, row + k * walk_rows, loaded[k], values);
        if constexpr (sums)
#pragma unroll
          for (int i = 0; i < N; ++i) total[i] += values[i];
      }
    }
  }
  if constexpr (sums) {
    __shared__ W place[walk_rows][walk_lanes * N];
#pragma unroll
    for (int i = 0; i < N; ++i) place[threadIdx.y][threadIdx.x * N + i] = total[i];
    __syncthreads();
    const int k = static_cast<int>(threadIdx.y * walk_lanes + threadIdx.x);
    const int64_t c = int64_t{blockIdx.x} * (walk_lanes * N) + k;
    if (k >= walk_lanes * N || c >= columns) return;
    W all = 0;
#pragma unroll
    for (int y = 0; y < walk_rows; ++y) all += place[y][k];
    partial[blockIdx.y * columns + c] = all;
  }
}

template <class W, int N, class Op>
const char* start_walk(void* stream, const Op& op, int64_t rows, int64_t columns, sum to, void* scratch) {
  const row_groups groups = walk_groups(rows);
  const dim3 grid(parts_of(columns, walk_lanes * N), static_cast<unsigned>(groups.count));
  const dim3 block(walk_lanes, walk_rows);
  W* partial = static_cast<W*>(scratch);
  if (!to) {
    walk<W, N, false><<<grid, block, 0, as_stream(stream)>>>(op, rows, columns, groups.each, partial);
    return started();
  }
  walk<W, N, true><<<grid, block, 0, as_stream(stream)>>>(op, rows, columns, groups.each, partial);
  if (const char* text = started()) return text;
  return start_adding(stream, partial, groups.count, columns, {{to, {}, {}}}, 1);
}

}  // namespace
}  // namespace sy::kernels::cuda
