// Backward of row_norm.hpp:
//
//   g = dy * weight,  x^ = (x - mean) * rstd,  dx = rstd * (g - mean(g) - x^ * mean(g x^)) + add
//   weight gradient += dy * x^,  bias gradient += dy,  column sum += dx as stored

#include "column_sums.cuh"
#include "reduce.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

template <class T>
struct backward_arguments {
  const T *dy, *x, *weight, *add;
  const wide_t<T>*mean, *rstd;
  T* dx;
  int64_t rows, width;

  backward_arguments(const norm_size& size, const norm_backward_data& d)
      : dy(static_cast<const T*>(d.dy)),
        x(static_cast<const T*>(d.x)),
        weight(static_cast<const T*>(d.weight)),
        add(static_cast<const T*>(d.add)),
        mean(static_cast<const wide_t<T>*>(d.mean)),
        rstd(static_cast<const wide_t<T>*>(d.rstd)),
        dx(static_cast<T*>(d.dx)),
        rows(size.rows),
        width(size.width) {}
};

constexpr int64_t most_packets = 512;  // of a row that one block holds
constexpr int rows_at_once = 2;

constexpr row_groups backward_groups(int64_t rows) { return {rows, 16, 1024}; }

/// What one thread has of `rows_at_once` rows.
template <class T, int N>
struct rows_part {
  raw<T, N> dy[rows_at_once], x[rows_at_once], add[rows_at_once];
  float mean[rows_at_once], rstd[rows_at_once];

  /// A row from `last` on is none: zeros, which add nothing to any sum.
  __device__ __forceinline__ void read(const backward_arguments<T>& a, int64_t row, int64_t last, int64_t column,
                                       bool active) {
#pragma unroll
    for (int r = 0; r < rows_at_once; ++r) {
      dy[r] = x[r] = add[r] = zeros<T, N>();
      mean[r] = rstd[r] = 0;
      if (row + r >= last) continue;
      if (a.mean) mean[r] = a.mean[row + r];
      rstd[r] = a.rstd[row + r];
      if (!active) continue;
      dy[r] = load<N>(a.dy + (row + r) * a.width + column);
      x[r] = load<N>(a.x + (row + r) * a.width + column);
      if (a.add) add[r] = load<N>(a.add + (row + r) * a.width + column);
    }
  }
};

/// A block walks over a group of rows; thread t has packet t of each, and keeps the sums of its columns. While a pair
/// of rows is worked on, the next is being read. partial: [3][groups][width].
template <class T, int N, bool layer>
__global__ void __launch_bounds__(512, 1)
    backward_in_registers(const backward_arguments<T> a, int64_t rows_each, int wanted, float* partial) {
  constexpr int R = rows_at_once;
  __shared__ float4 place[2][16];
  static_assert(2 * R == 4, "a float4 holds the sums of all rows at once");
  const bool active = threadIdx.x * N < a.width;
  const int64_t column = int64_t{threadIdx.x} * N;
  const int warps = static_cast<int>(blockDim.x) / 32;
  const int64_t first = blockIdx.x * rows_each, last = first + rows_each < a.rows ? first + rows_each : a.rows;
  const float inverse_width = 1.0f / static_cast<float>(a.width);

  float of_weight[N] = {}, of_bias[N] = {}, of_column[N] = {};
  const raw<T, N> weight_raw = active ? load<N>(a.weight + column) : zeros<T, N>();
  rows_part<T, N> now, next;
  now.read(a, first, last, column, active);
  int side = 0;
  for (int64_t row = first; row < last; row += R, side ^= 1) {
    next.read(a, row + R, last, column, active);
    float w[N], g_sum[R] = {}, gx_sum[R] = {};
    widen(weight_raw, w);
#pragma unroll
    for (int r = 0; r < R; ++r) {
      float dy[N], x[N];
      widen(now.dy[r], dy);
      widen(now.x[r], x);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float normal = (x[i] - now.mean[r]) * now.rstd[r], g = dy[i] * w[i];
        if (layer) g_sum[r] += g;
        gx_sum[r] = fmaf(g, normal, gx_sum[r]);
        of_weight[i] = fmaf(dy[i], normal, of_weight[i]);
        of_bias[i] += dy[i];
      }
      if (layer) g_sum[r] = warp_sum(g_sum[r]);
      gx_sum[r] = warp_sum(gx_sum[r]);
    }
    float4 sums = make_float4(g_sum[0], gx_sum[0], g_sum[1], gx_sum[1]);
    if (warps > 1) {  // the side alternates, so that one barrier is enough
      if (threadIdx.x % 32 == 0) place[side][threadIdx.x / 32] = sums;
      __syncthreads();
      sums = place[side][0];
      for (int k = 1; k < warps; ++k) {
        const float4 more = place[side][k];
        sums.x += more.x, sums.y += more.y, sums.z += more.z, sums.w += more.w;
      }
    }
    const float g_mean[R] = {sums.x * inverse_width, sums.z * inverse_width};
    const float gx_mean[R] = {sums.y * inverse_width, sums.w * inverse_width};
#pragma unroll
    for (int r = 0; r < R; ++r) {
      if (row + r >= last || !active) continue;
      float dy[N], x[N], more[N];
      widen(now.dy[r], dy);
      widen(now.x[r], x);
      widen(now.add[r], more);
#pragma unroll
      for (int i = 0; i < N; ++i) {
        const float normal = (x[i] - now.mean[r]) * now.rstd[r], g = dy[i] * w[i];
        dy[i] = fmaf(now.rstd[r], fmaf(-normal, gx_mean[r], layer ? g - g_mean[r] : g), more[i]);
      }
      const raw<T, N> made = narrow<T, N>(dy);
      if (a.dx) store<N>(a.dx + (row + r) * a.width + column, made);
      widen(made, dy);
#pragma unroll
      for (int i = 0; i < N; ++i) of_column[i] += dy[i];
    }
    now = next;
  }
  if (!partial || !active) return;
  const int64_t all = int64_t{gridDim.x} * a.width, at = blockIdx.x * a.width + column;
  if (wanted & 1) store_wide<N>(partial + at, of_weight);
  if (wanted & 2) store_wide<N>(partial + all + at, of_bias);
  if (wanted & 4) store_wide<N>(partial + 2 * all + at, of_column);
}

/// mean(g) and mean(g x^) of each row, [rows][2]; a block for each.
template <class T, bool layer>
__global__ void __launch_bounds__(256) row_means(const backward_arguments<T> a, wide_t<T>* means) {
  using W = wide_t<T>;
  __shared__ W place[2][32];
  const int64_t row = blockIdx.x, start = row * a.width;
  const W mean = layer ? a.mean[row] : W(0), rstd = a.rstd[row];
  W g_sum = 0, gx_sum = 0;
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
    const W g = widen_one(a.dy[start + i]) * widen_one(a.weight[i]);
    if (layer) g_sum += g;
    gx_sum += g * ((widen_one(a.x[start + i]) - mean) * rstd);
  }
  g_sum = block_sum(g_sum, place[0]);
  gx_sum = block_sum(gx_sum, place[1]);
  if (threadIdx.x != 0) return;
  means[2 * row] = g_sum / static_cast<W>(a.width);
  means[2 * row + 1] = gx_sum / static_cast<W>(a.width);
}

constexpr int pass_columns = 32, pass_rows = 8;

/// The rest of the backward pass by tiles of 32 columns x a group of rows, from the means of the rows.
template <class T, bool layer>
__global__ void __launch_bounds__(pass_columns* pass_rows)
    backward_in_passes(const backward_arguments<T> a, int64_t rows_each, const wide_t<T>* means, wide_t<T>* partial) {
  using W = wide_t<T>;
  __shared__ W place[3][pass_rows][pass_columns];
  const int64_t c = int64_t{blockIdx.x} * pass_columns + threadIdx.x;
  const int64_t first = blockIdx.y * rows_each, last = first + rows_each < a.rows ? first + rows_each : a.rows;
  W sums[3] = {};
  for (int64_t row = first + threadIdx.y; c < a.width && row < last; row += pass_rows) {
    const int64_t i = row * a.width + c;
    const W rstd = a.rstd[row], dy = widen_one(a.dy[i]);
    const W normal = (widen_one(a.x[i]) - (layer ? a.mean[row] : W(0))) * rstd, g = dy * widen_one(a.weight[c]);
    const W v = rstd * ((layer ? g - means[2 * row] : g) - normal * means[2 * row + 1]);
    T made;
    narrow_one(a.add ? v + widen_one(a.add[i]) : v, made);
    if (a.dx) a.dx[i] = made;
    sums[0] += dy * normal;
    sums[1] += dy;
    sums[2] += widen_one(made);
  }
  if (!partial) return;
#pragma unroll
  for (int k = 0; k < 3; ++k) place[k][threadIdx.y][threadIdx.x] = sums[k];
  __syncthreads();
  if (threadIdx.y >= 3 || c >= a.width) return;
  W total = 0;
#pragma unroll
  for (int y = 0; y < pass_rows; ++y) total += place[threadIdx.y][y][threadIdx.x];
  partial[(int64_t{threadIdx.y} * gridDim.y + blockIdx.y) * a.width + c] = total;
}

/// Scratch: sums of groups [3][groups][width], then means [rows][2].
template <class W>
struct backward_scratch {
  row_groups groups;
  W *partial, *means;
  backward_scratch(const norm_size& size, void* memory)
      : groups(backward_groups(size.rows)),
        partial(static_cast<W*>(memory)),
        means(partial + 3 * groups.count * size.width) {}
};

template <class T, bool layer>
const char* start_backward(void* stream, const norm_size& size, const norm_backward_data& d) {
  using W = wide_t<T>;
  const backward_arguments<T> a(size, d);
  const backward_scratch<W> room(size, d.scratch);
  const int wanted = (d.weight_gradient ? 1 : 0) | (d.bias_gradient ? 2 : 0) | (d.column_sum ? 4 : 0);
  W* partial = wanted ? room.partial : nullptr;
  const auto groups = static_cast<unsigned>(room.groups.count);
  bool done = false;
  if constexpr (packet < T >> 1) {
    const int64_t packets = size.width / packet<T>;
    if (size.width % packet<T> == 0 && packets <= most_packets && aligned(a.dy, a.x, a.weight, a.add, a.dx)) {
      const auto threads = static_cast<unsigned>(rounded_up(packets, 32));
      backward_in_registers<T, packet<T>, layer>
          <<<groups, threads, 0, as_stream(stream)>>>(a, room.groups.each, wanted, partial);
      done = true;
    }
  }
  if (!done) {
    row_means<T, layer><<<static_cast<unsigned>(size.rows), 256, 0, as_stream(stream)>>>(a, room.means);
    backward_in_passes<T, layer>
        <<<dim3(parts_of(size.width, pass_columns), groups), dim3(pass_columns, pass_rows), 0, as_stream(stream)>>>(
            a, room.groups.each, room.means, partial);
  }
  if (const char* text = started()) return text;
  if (!wanted) return nullptr;
  return start_adding(stream, partial, room.groups.count, size.width,
                      {{d.weight_gradient, d.bias_gradient, d.column_sum}}, 3);
}

}  // namespace

const char* norm_backward(void* stream, const norm_size& size, const norm_backward_data& d) {
  return with_type(size.type, [&]<class T>(T*) {
    return size.rule == norm_rule::layer ? start_backward<T, true>(stream, size, d)
                                         : start_backward<T, false>(stream, size, d);
  });
}

uint64_t norm_backward_scratch(const norm_size& size) {
  const auto values = static_cast<uint64_t>(3 * backward_groups(size.rows).count * size.width + 2 * size.rows);
  return values * wide(size.type).bits / 8;
}

}  // namespace sy::kernels::cuda
