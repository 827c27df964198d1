#include "reduce.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

template <class T>
struct forward_arguments {
  const T *x, *residual, *weight, *bias;
  T *sum, *y;
  wide_t<T>*mean, *rstd;
  int64_t rows, width;
  wide_t<T> eps;

  forward_arguments(const norm_size& size, const norm_forward_data& d)
      : x(static_cast<const T*>(d.x)),
        residual(static_cast<const T*>(d.residual)),
        weight(static_cast<const T*>(d.weight)),
        bias(static_cast<const T*>(d.bias)),
        sum(static_cast<T*>(d.sum)),
        y(static_cast<T*>(d.y)),
        mean(static_cast<wide_t<T>*>(d.mean)),
        rstd(static_cast<wide_t<T>*>(d.rstd)),
        rows(size.rows),
        width(size.width),
        eps(static_cast<wide_t<T>>(size.eps)) {}
};

/// Rows in registers: a row belongs to the threads along x, each with K packets; a block has blockDim.y rows, which
/// must be 1 where a row has more than one warp.
template <class T, int N, int K, bool layer>
__global__ void __launch_bounds__(K == 1   ? 128
                                  : K == 3 ? 128
                                           : 512) forward_in_registers(const forward_arguments<T> a) {
  __shared__ float place[2][32];
  const int64_t row = int64_t{blockIdx.x} * blockDim.y + threadIdx.y;
  if (row >= a.rows) return;
  const int packets = static_cast<int>(a.width / N), threads = static_cast<int>(blockDim.x);
  const int lane = static_cast<int>(threadIdx.x);
  const int64_t start = row * a.width;

  raw<T, N> x[K], weight[K];
  float v[K][N];
#pragma unroll
  for (int k = 0; k < K; ++k)
    if (lane + k * threads < packets) x[k] = load<N>(a.x + start + (lane + k * threads) * N);
  if (a.residual) {
    raw<T, N> r[K];
#pragma unroll
    for (int k = 0; k < K; ++k)
      if (lane + k * threads < packets) r[k] = load<N>(a.residual + start + (lane + k * threads) * N);
#pragma unroll
    for (int k = 0; k < K; ++k) {
      if (lane + k * threads >= packets) continue;
      float other[N];
      widen(x[k], v[k]);
      widen(r[k], other);
#pragma unroll
      for (int i = 0; i < N; ++i) v[k][i] += other[i];
      x[k] = narrow<T, N>(v[k]);
      if (a.sum) store<N>(a.sum + start + (lane + k * threads) * N, x[k]);
    }
  }
  float total = 0;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (lane + k * threads >= packets) continue;
    weight[k] = load<N>(a.weight + (lane + k * threads) * N);
    widen(x[k], v[k]);
#pragma unroll
    for (int i = 0; i < N; ++i) total += v[k][i];
  }
  const auto width = static_cast<float>(a.width);
  const float mean = layer ? block_sum(total, place[0]) / width : 0.0f;
  float squares = 0;
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (lane + k * threads >= packets) continue;
#pragma unroll
    for (int i = 0; i < N; ++i) {
      v[k][i] -= mean;
      squares = fmaf(v[k][i], v[k][i], squares);
    }
  }
  const float rstd = 1.0f / sqrtf(block_sum(squares, place[1]) / width + a.eps);
  if (lane == 0) {
    if (layer && a.mean) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
#pragma unroll
  for (int k = 0; k < K; ++k) {
    if (lane + k * threads >= packets) continue;
    float w[N], b[N] = {};
    widen(weight[k], w);
    if (a.bias) widen(load<N>(a.bias + (lane + k * threads) * N), b);
#pragma unroll
    for (int i = 0; i < N; ++i) v[k][i] = fmaf(v[k][i] * rstd, w[i], b[i]);
    store<N>(a.y + start + (lane + k * threads) * N, narrow<T, N>(v[k]));
  }
}

/// Rows of any width, read once for each of mean, variance and result; a block for each.
template <class T, bool layer>
__global__ void __launch_bounds__(256) forward_in_passes(const forward_arguments<T> a) {
  using W = wide_t<T>;
  __shared__ W place[2][32];
  const int64_t row = blockIdx.x, start = row * a.width;
  const auto value = [&](int64_t i) {
    const W v = widen_one(a.x[start + i]);
    if (!a.residual) return v;
    T stored;
    narrow_one(v + widen_one(a.residual[start + i]), stored);
    return widen_one(stored);
  };
  const auto width = static_cast<W>(a.width);
  W total = 0, squares = 0;
  if (layer)
    for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) total += value(i);
  const W mean = layer ? block_sum(total, place[0]) / width : W(0);
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) squares += (value(i) - mean) * (value(i) - mean);
  const W rstd = W(1) / sqrt(block_sum(squares, place[1]) / width + a.eps);
  if (threadIdx.x == 0) {
    if (layer && a.mean) a.mean[row] = mean;
    a.rstd[row] = rstd;
  }
  for (int64_t i = threadIdx.x; i < a.width; i += blockDim.x) {
    const W v = value(i);
    if (a.sum) narrow_one(v, a.sum[start + i]);
    narrow_one((v - mean) * rstd * widen_one(a.weight[i]) + (a.bias ? widen_one(a.bias[i]) : W(0)), a.y[start + i]);
  }
}

template <class T, bool layer, int K>
const char* start_in_registers(void* stream, const forward_arguments<T>& a, int64_t packets) {
  const auto threads = static_cast<unsigned>(rounded_up((packets + K - 1) / K, 32));
  const dim3 block(threads, threads == 32 ? 4 : 1);
  forward_in_registers<T, packet<T>, K, layer><<<parts_of(a.rows, block.y), block, 0, as_stream(stream)>>>(a);
  return started();
}

/// One warp a row up to three packets a lane, else blocks of as many warps as two packets a thread take, or four.
template <class T, bool layer>
const char* start_forward(void* stream, const forward_arguments<T>& a) {
  if constexpr (packet < T >> 1) {
    const int64_t packets = a.width / packet<T>;
    const bool whole = a.width % packet<T> == 0 && aligned(a.x, a.residual, a.weight, a.bias, a.sum, a.y);
    if (whole && packets <= 32) return start_in_registers<T, layer, 1>(stream, a, packets);
    if (whole && packets > 64 && packets <= 96) return start_in_registers<T, layer, 3>(stream, a, packets);
    if (whole && packets <= 1024) return start_in_registers<T, layer, 2>(stream, a, packets);
    if (whole && packets <= 2048) return start_in_registers<T, layer, 4>(stream, a, packets);
  }
  forward_in_passes<T, layer><<<static_cast<unsigned>(a.rows), 256, 0, as_stream(stream)>>>(a);
  return started();
}

}  // namespace

const char* norm_forward(void* stream, const norm_size& size, const norm_forward_data& d) {
  return with_type(size.type, [&]<class T>(T*) {
    const forward_arguments<T> a(size, d);
    return size.rule == norm_rule::layer ? start_forward<T, true>(stream, a) : start_forward<T, false>(stream, a);
  });
}

}  // namespace sy::kernels::cuda
