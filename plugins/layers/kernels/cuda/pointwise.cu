#include "column_sums.cuh"
#include "functions.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

constexpr int threads = 256, packets_each = 2;

/// op.load<N>(i) and op.finish<N>(i, loaded) over n elements from i on: whole packets, then the rest one by one.
template <int N, class Op>
__global__ void __launch_bounds__(threads) over_elements(const Op op, int64_t n) {
  const int64_t packets = n / N, first = int64_t{blockIdx.x} * (threads * packets_each) + threadIdx.x;
  typename Op::template loaded<N> loaded[packets_each];
#pragma unroll
  for (int k = 0; k < packets_each; ++k)
    if (first + k * threads < packets) loaded[k] = op.template load<N>((first + k * threads) * N);
#pragma unroll
  for (int k = 0; k < packets_each; ++k)
    if (first + k * threads < packets) op.template finish<N>((first + k * threads) * N, loaded[k]);
  if (N > 1 && blockIdx.x == 0 && threadIdx.x < n % N) {
    const int64_t i = packets * N + threadIdx.x;
    op.template finish<1>(i, op.template load<1>(i));
  }
}

template <class T, class Op>
const char* start(void* stream, const Op& op, int64_t n, bool in_packets) {
  return with_packets<T>(in_packets, [&]<int N>(std::integral_constant<int, N>) {
    const unsigned blocks = parts_of(n / N > 0 ? n / N : 1, threads * packets_each);
    over_elements<N><<<blocks, threads, 0, as_stream(stream)>>>(op, n);
    return started();
  });
}

template <class T, class Rule>
struct activating {
  template <int N>
  using loaded = raw<T, N>;
  const T* x;
  T* y;
  template <int N>
  __device__ raw<T, N> load(int64_t i) const {
    return cuda::load<N>(x + i);
  }
  template <int N>
  __device__ void finish(int64_t i, const raw<T, N>& from) const {
    wide_t<T> v[N];
    widen(from, v);
#pragma unroll
    for (int k = 0; k < N; ++k) v[k] = Rule::template value<sizeof(T) == 2>(v[k]);
    store<N>(y + i, narrow<T, N>(v));
  }
};

template <class T, int N, class Rule>
struct activating_backward {
  static constexpr int ahead = 2;
  struct loaded {
    raw<T, N> dy, kept;
  };
  const T *dy, *kept;
  T* dx;
  int64_t columns;

  __device__ int64_t column(int64_t c) const { return c; }
  __device__ loaded load(int64_t c, int64_t row) const {
    return {cuda::load<N>(dy + row * columns + c), cuda::load<N>(kept + row * columns + c)};
  }
  __device__ void finish(int64_t c, int64_t row, const loaded& from, wide_t<T> (&values)[N]) const {
    wide_t<T> k[N];
    widen(from.dy, values);
    widen(from.kept, k);
#pragma unroll
    for (int i = 0; i < N; ++i) values[i] *= Rule::template slope<sizeof(T) == 2>(k[i]);
    const raw<T, N> made = narrow<T, N>(values);
    store<N>(dx + row * columns + c, made);
    widen(made, values);
  }
};

template <class T>
struct gating {
  template <int N>
  struct loaded {
    raw<T, N> gate, up;
  };
  const T *gate, *up;
  T* y;
  template <int N>
  __device__ loaded<N> load(int64_t i) const {
    return {cuda::load<N>(gate + i), cuda::load<N>(up + i)};
  }
  template <int N>
  __device__ void finish(int64_t i, const loaded<N>& from) const {
    wide_t<T> g[N], u[N];
    widen(from.gate, g);
    widen(from.up, u);
#pragma unroll
    for (int k = 0; k < N; ++k) u[k] *= silu::value<sizeof(T) == 2>(g[k]);
    store<N>(y + i, narrow<T, N>(u));
  }
};

template <class T>
struct gating_backward {
  template <int N>
  struct loaded {
    raw<T, N> dy, gate, up;
  };
  const T *dy, *gate, *up;
  T *dgate, *dup;
  template <int N>
  __device__ loaded<N> load(int64_t i) const {
    return {cuda::load<N>(dy + i), cuda::load<N>(gate + i), cuda::load<N>(up + i)};
  }
  template <int N>
  __device__ void finish(int64_t i, const loaded<N>& from) const {
    using W = wide_t<T>;
    W d[N], g[N], u[N];
    widen(from.dy, d);
    widen(from.gate, g);
    widen(from.up, u);
#pragma unroll
    for (int k = 0; k < N; ++k) {
      const W s = sigmoid_of<sizeof(T) == 2>(g[k]);
      u[k] = d[k] * u[k] * (s * multiply_add(g[k], W(1) - s, W(1)));
      g[k] = d[k] * g[k] * s;
    }
    store<N>(dgate + i, narrow<T, N>(u));
    store<N>(dup + i, narrow<T, N>(g));
  }
};

template <class T>
struct adding {
  template <int N>
  struct loaded {
    raw<T, N> a, b;
  };
  const T *a, *b;
  T* y;
  template <int N>
  __device__ loaded<N> load(int64_t i) const {
    return {cuda::load<N>(a + i), cuda::load<N>(b + i)};
  }
  template <int N>
  __device__ void finish(int64_t i, const loaded<N>& from) const {
    wide_t<T> v[N], w[N];
    widen(from.a, v);
    widen(from.b, w);
#pragma unroll
    for (int k = 0; k < N; ++k) v[k] += w[k];
    store<N>(y + i, narrow<T, N>(v));
  }
};

template <class T>
const T* in(const void* data) {
  return static_cast<const T*>(data);
}
template <class T>
T* out(void* data) {
  return static_cast<T*>(data);
}

}  // namespace

const char* activate(void* stream, function f, sy_dtype type, int64_t n, const void* x, void* y) {
  return with_type(type, [&]<class T>(T*) {
    return with_function(f, [&]<class Rule>(Rule) {
      return start<T>(stream, activating<T, Rule>{in<T>(x), out<T>(y)}, n, aligned(x, y));
    });
  });
}

const char* activate_backward(void* stream, function f, sy_dtype type, int64_t rows, int64_t columns, const void* dy,
                              const void* kept, void* dx, sum bias_gradient, void* scratch) {
  return with_type(type, [&]<class T>(T*) {
    return with_function(f, [&]<class Rule>(Rule) {
      return with_packets<T>(columns % packet<T> == 0 && aligned(dy, kept, dx),
                             [&]<int N>(std::integral_constant<int, N>) {
                               const activating_backward<T, N, Rule> op{in<T>(dy), in<T>(kept), out<T>(dx), columns};
                               return start_walk<wide_t<T>, N>(stream, op, rows, columns, bias_gradient, scratch);
                             });
    });
  });
}

const char* swiglu(void* stream, sy_dtype type, int64_t n, const void* gate, const void* up, void* y) {
  return with_type(type, [&]<class T>(T*) {
    return start<T>(stream, gating<T>{in<T>(gate), in<T>(up), out<T>(y)}, n, aligned(gate, up, y));
  });
}

const char* swiglu_backward(void* stream, sy_dtype type, int64_t n, const void* dy, const void* gate, const void* up,
                            void* dgate, void* dup) {
  return with_type(type, [&]<class T>(T*) {
    return start<T>(stream, gating_backward<T>{in<T>(dy), in<T>(gate), in<T>(up), out<T>(dgate), out<T>(dup)}, n,
                    aligned(dy, gate, up, dgate, dup));
  });
}

const char* add(void* stream, sy_dtype type, int64_t n, const void* a, const void* b, void* y) {
  return with_type(type, [&]<class T>(T*) {
    return start<T>(stream, adding<T>{in<T>(a), in<T>(b), out<T>(y)}, n, aligned(a, b, y));
  });
}

}  // namespace sy::kernels::cuda
