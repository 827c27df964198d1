#include "elements.cuh"
#include "switchyard/random.h"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T>
struct drop_arguments {
  drawing from;
  uint64_t threshold;
  wide_t<T> scale;
  int64_t samples, per_sample;
  const T *x, *add;
  T* y;
};

/// The words of N elements from `element` on, which is a multiple of N.
template <int N>
__device__ __forceinline__ void draw(const drawing& from, uint32_t sample, uint64_t element, uint32_t (&words)[N]) {
  if constexpr (N == 1) {
    uint32_t four[4];
    sy_random_block(from.key, from.step, sample, element, four);
    const uint32_t low = element & 1 ? four[1] : four[0], high = element & 1 ? four[3] : four[2];
    words[0] = element & 2 ? high : low;
  } else {
#pragma unroll
    for (int k = 0; k < N; k += 4) sy_random_block(from.key, from.step, sample, element + k, words + k);
  }
}

/// blockIdx.y: the sample, and every gridDim.y-th after it.
template <class T, int N>
__global__ void __launch_bounds__(threads) drop_elements(const drop_arguments<T> a) {
  const int64_t first = (int64_t{blockIdx.x} * threads + threadIdx.x) * N;
  if (first >= a.per_sample) return;
  for (int64_t sample = blockIdx.y; sample < a.samples; sample += gridDim.y) {
    const int64_t i = sample * a.per_sample + first;
    const raw<T, N> from = load<N>(a.x + i), more = a.add ? load<N>(a.add + i) : zeros<T, N>();
    uint32_t words[N];
    draw(a.from, static_cast<uint32_t>(a.from.first_sample + sample), static_cast<uint64_t>(first), words);
    wide_t<T> v[N], w[N];
    widen(from, v);
    widen(more, w);
#pragma unroll
    for (int k = 0; k < N; ++k) v[k] = (words[k] < a.threshold ? wide_t<T>(0) : v[k] * a.scale) + w[k];
    store<N>(a.y + i, narrow<T, N>(v));
  }
}

}  // namespace

const char* drop(void* stream, sy_dtype type, int64_t samples, int64_t per_sample, const drawing& from, const void* x,
                 const void* add, void* y) {
  return with_type(type, [&]<class T>(T*) {
    const double p = from.probability;
    const drop_arguments<T> a = {from,
                                 sy_drop_threshold(p),
                                 static_cast<wide_t<T>>(p < 1 ? 1 / (1 - p) : 0),
                                 samples,
                                 per_sample,
                                 static_cast<const T*>(x),
                                 static_cast<const T*>(add),
                                 static_cast<T*>(y)};
    const bool whole = per_sample % packet<T> == 0 && aligned(x, add, y);
    return with_packets<T>(whole, [&]<int N>(std::integral_constant<int, N>) {
      const dim3 grid(parts_of(per_sample, threads * N), static_cast<unsigned>(samples < 65535 ? samples : 65535));
      drop_elements<T, N><<<grid, threads, 0, as_stream(stream)>>>(a);
      return started();
    });
  });
}

}  // namespace sy::kernels::cuda
