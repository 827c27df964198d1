#include "elements.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T>
struct rotary_arguments {
  T* x;
  int64_t rows, time, row_stride;
  int heads, head_width;
  double base;
  bool back;
};

/// A block turns every head at one position, in each batch row blockIdx.y, blockIdx.y + gridDim.y ...; cosines and
/// sines of its position are made once. Dynamic shared memory: [2][head_width / 2].
template <class T, int N>
__global__ void __launch_bounds__(threads) turn(const rotary_arguments<T> a) {
  using W = wide_t<T>;
  extern __shared__ double memory[];
  const int pairs = a.head_width / 2;
  W *cosines = reinterpret_cast<W*>(memory), *sines = cosines + pairs;
  const int64_t position = blockIdx.x;
  for (int d = static_cast<int>(threadIdx.x); d < pairs; d += threads) {
    double s, c;
    sincos(static_cast<double>(position) * pow(a.base, -2.0 * d / a.head_width), &s, &c);
    cosines[d] = static_cast<W>(c);
    sines[d] = static_cast<W>(a.back ? -s : s);
  }
  __syncthreads();
  const int packets = pairs / N, of_row = a.heads * packets;
  const int64_t first = position + blockIdx.y * a.time, apart = gridDim.y * a.time;
  const auto all = static_cast<int>(first < a.rows ? (a.rows - first + apart - 1) / apart * of_row : 0);
  for (int k = static_cast<int>(threadIdx.x); k < all; k += threads) {
    const int which = k / of_row, within = k - which * of_row, head = within / packets,
              d = (within - head * packets) * N;
    T *low = a.x + (first + which * apart) * a.row_stride + int64_t{head} * a.head_width + d, *high = low + pairs;
    W l[N], h[N];
    widen(load<N>(low), l);
    widen(load<N>(high), h);
#pragma unroll
    for (int i = 0; i < N; ++i) {
      const W c = cosines[d + i], s = sines[d + i], turned = l[i] * c - h[i] * s;
      h[i] = h[i] * c + l[i] * s;
      l[i] = turned;
    }
    store<N>(low, narrow<T, N>(l));
    store<N>(high, narrow<T, N>(h));
  }
}

}  // namespace

const char* rotate(void* stream, sy_dtype type, int64_t rows, int64_t time, int64_t heads, int64_t head_width,
                   int64_t row_stride, double base, bool back, void* x) {
  return with_type(type, [&]<class T>(T*) {
    const auto shared = static_cast<std::size_t>(head_width) * sizeof(wide_t<T>);
    if (shared > 48 * 1024) return "heads wider than 48 KiB of cosines and sines";
    const int64_t positions = time < rows ? time : rows, batch = (rows + time - 1) / time;
    const int64_t wanted = (1024 + positions - 1) / positions;  // blocks side by side
    const dim3 grid(static_cast<unsigned>(positions), static_cast<unsigned>(batch < wanted ? batch : wanted));
    const bool whole = head_width / 2 % packet<T> == 0 && row_stride % packet<T> == 0 && aligned(x);
    const rotary_arguments<T> a = {static_cast<T*>(x),           rows, time, row_stride, static_cast<int>(heads),
                                   static_cast<int>(head_width), base, back};
    return with_packets<T>(whole, [&]<int N>(std::integral_constant<int, N>) {
      turn<T, N><<<grid, threads, shared, as_stream(stream)>>>(a);
      return started();
    });
  });
}

}  // namespace sy::kernels::cuda
