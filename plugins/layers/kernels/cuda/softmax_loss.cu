#include <cmath>

#include "../whole.hpp"
#include "functions.cuh"
#include "reduce.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

template <class W>
__device__ __forceinline__ W lowest() {
  return W(-INFINITY);
}

/// The largest so far, and the sum of exp(x - largest).
template <class W>
struct powers {
  W most, total;
};

/// exp(v - most); for 16-bit tensors by one multiplication with what was prepared.
template <bool fast, class W>
struct power_of {
  W most;
  __device__ explicit power_of(W m) {
    if (m == lowest<W>()) m = 0;  // then all are: exp(-inf)
    most = fast ? W(m * W(1.44269504088896341)) : m;
  }
  __device__ W operator()(W v) const {
    if constexpr (fast)
      return fast_exp2(fmaf(v, 1.44269504f, -most));
    else
      return exp_of<false>(v - most);
  }
};

template <bool fast, int N, class W>
__device__ __forceinline__ void take(powers<W>& p, const W (&v)[N]) {
  W most = v[0];
#pragma unroll
  for (int i = 1; i < N; ++i) most = v[i] > most ? v[i] : most;
  if (most > p.most) {
    p.total *= power_of<fast, W>(most)(p.most);
    p.most = most;
  }
  const power_of<fast, W> power(p.most);
#pragma unroll
  for (int i = 0; i < N; ++i) p.total += power(v[i]);
}

/// Of all threads of the block, for every thread. `place`: two rows of 32 in shared memory.
template <bool fast, class W>
__device__ __forceinline__ powers<W> of_block(powers<W> mine, W (*place)[32]) {
  W most = warp_largest(mine.most);
  const int warps = static_cast<int>(blockDim.x) / 32, warp = static_cast<int>(threadIdx.x) / 32;
  if (threadIdx.x % 32 == 0) place[0][warp] = most;
  __syncthreads();
  most = place[0][0];
  for (int k = 1; k < warps; ++k) most = place[0][k] > most ? place[0][k] : most;
  const W total = mine.total * power_of<fast, W>(most)(mine.most);
  return {most, block_sum(total, place[1])};
}

template <class T>
struct loss_arguments {
  T* logits;
  const void* targets;
  sy_dtype target_type;
  int64_t rows, classes, ignore;
  bool ignores, gradient;
  wide_t<T> weight;
  double *losses, *right;
};

/// A row that begins anywhere: up to N - 1 elements before the first 16 bytes, packets, and up to N - 1 behind them.
template <class T, int N>
struct row_layout {
  int64_t head, packets, edges;
  __device__ row_layout(const T* row, int64_t classes) {
    const auto past = static_cast<int64_t>(reinterpret_cast<uintptr_t>(row) % (N * sizeof(T)) / sizeof(T));
    head = past == 0 ? 0 : N - past;
    head = head < classes ? head : classes;
    packets = (classes - head) / N;
    edges = classes - packets * N;
  }
  /// Element number e of those outside of packets.
  __device__ int64_t edge(int64_t e) const { return e < head ? e : e + packets * N; }
};

/// Is anything larger than the target's logit, or as large and before it?
template <int N, class W>
__device__ __forceinline__ bool any_better(const W (&v)[N], int64_t first, W logit, int64_t target) {
  bool better = false;
#pragma unroll
  for (int i = 0; i < N; ++i) better = better || v[i] > logit || (v[i] == logit && first + i < target);
  return better;
}

/// A block for each row. kept: the row's packets stay in shared memory between the two passes, else they are read again
/// (from the second-level cache).
template <class T, int N, bool kept, bool counts_right>
__global__ void __launch_bounds__(1024, sizeof(T) == 2 ? 2 : 1) softmax_row(const loss_arguments<T> a) {
  using W = wide_t<T>;
  constexpr bool fast = sizeof(T) == 2;
  extern __shared__ uint4 keeping[];
  __shared__ W place[2][32];
  auto* kept_packets = reinterpret_cast<raw<T, N>*>(keeping);

  const int64_t index = a.rows - 1 - int64_t{blockIdx.x};  // what was written last is still in the cache
  T* row = a.logits + index * a.classes;
  const row_layout<T, N> layout(row, a.classes);
  const int64_t target = whole_at(a.targets, a.target_type, index);
  const int threads = static_cast<int>(blockDim.x), packets = static_cast<int>(layout.packets);
  const int lane = static_cast<int>(threadIdx.x);
  T* body = row + layout.head;
  if (a.ignores && target == a.ignore) {
    if (a.gradient) {
      for (int k = lane; k < packets; k += threads) store<N>(body + int64_t{k} * N, zeros<T, N>());
      for (int64_t e = lane; e < layout.edges; e += threads) narrow_one(W(0), row[layout.edge(e)]);
    }
    if (lane == 0) {
      a.losses[index] = 0;
      if (counts_right) a.right[index] = 0;
    }
    return;
  }
  const bool outside = target < 0 || target >= a.classes;
  const W logit = outside ? W(NAN) : widen_one(row[target]);
  powers<W> mine = {lowest<W>(), 0};
  bool better = false;
#pragma unroll 2
  for (int k = lane; k < packets; k += threads) {
    const raw<T, N> from = load<N>(body + int64_t{k} * N);
    if constexpr (kept) kept_packets[k] = from;
    W v[N];
    widen(from, v);
    take<fast>(mine, v);
    if constexpr (counts_right) better = better || any_better(v, layout.head + int64_t{k} * N, logit, target);
  }
  for (int64_t e = lane; e < layout.edges; e += threads) {
    const W v[1] = {widen_one(row[layout.edge(e)])};
    take<fast>(mine, v);
    if constexpr (counts_right) better = better || any_better(v, layout.edge(e), logit, target);
  }
  if constexpr (counts_right) {
    better = __syncthreads_or(better);
    if (lane == 0) a.right[index] = better || outside ? 0 : 1;
  }
  const powers<W> all = of_block<fast>(mine, place);
  if (lane == 0) {
    if constexpr (sizeof(W) == 8)
      a.losses[index] = log(all.total) + (all.most - logit);
    else
      a.losses[index] =
          static_cast<double>(logf(all.total)) + (static_cast<double>(all.most) - static_cast<double>(logit));
  }
  if (!a.gradient) return;

  const power_of<fast, W> power(all.most);
  const W scale = a.weight / all.total;
#pragma unroll 2
  for (int k = lane; k < packets; k += threads) {
    const int64_t first = layout.head + int64_t{k} * N;
    W v[N];
    widen(kept ? kept_packets[k] : load<N>(body + int64_t{k} * N), v);
#pragma unroll
    for (int i = 0; i < N; ++i) v[i] = power(v[i]) * scale;
    if (target >= first && target < first + N)
#pragma unroll
      for (int i = 0; i < N; ++i) v[i] -= first + i == target ? a.weight : W(0);
    store<N>(body + int64_t{k} * N, narrow<T, N>(v));
  }
  for (int64_t e = lane; e < layout.edges; e += threads) {
    const int64_t i = layout.edge(e);
    narrow_one(power(widen_one(row[i])) * scale - (i == target ? a.weight : W(0)), row[i]);
  }
}

/// What a block may have of shared memory so that two fit on a multiprocessor; 0 where it is unknown.
int64_t shared_for_two() {
  int device = 0, bytes = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerMultiprocessor, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return bytes / 2 - 2048;  // what the system and the kernel itself take
}

/// About four packets for each thread.
unsigned threads_for(int64_t packets) {
  return static_cast<unsigned>(32 * std::min<int64_t>(32, std::max<int64_t>(1, (packets + 127) / 128)));
}

template <class T, int N, bool kept, bool counts_right>
const char* start_rows(void* stream, const loss_arguments<T>& a, int64_t bytes) {
  const auto kernel = softmax_row<T, N, kept, counts_right>;
  if (bytes > 48 * 1024) {
    const cudaError_t code =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(bytes));
    if (code != cudaSuccess) return started();
  }
  const auto shared = static_cast<std::size_t>(bytes);
  kernel<<<static_cast<unsigned>(a.rows), threads_for(a.classes / N), shared, as_stream(stream)>>>(a);
  return started();
}

template <class T>
const char* start_losses(void* stream, const softmax_loss_data& d) {
  constexpr int N = packet<T>;
  const loss_arguments<T> a = {
      static_cast<T*>(d.logits),        d.targets, d.target_type, d.rows, d.classes, d.ignore, d.ignores, d.gradient,
      static_cast<wide_t<T>>(d.weight), d.losses,  d.right};
  const int64_t bytes = d.classes * static_cast<int64_t>(sizeof(T));
  if (d.gradient && sizeof(T) == 2 && bytes <= shared_for_two())
    return d.right ? start_rows<T, N, sizeof(T) == 2, true>(stream, a, bytes)
                   : start_rows<T, N, sizeof(T) == 2, false>(stream, a, bytes);
  return d.right ? start_rows<T, N, false, true>(stream, a, 0) : start_rows<T, N, false, false>(stream, a, 0);
}

/// One block: 1024 sums of every 1024th row, then a tree.
__global__ void __launch_bounds__(1024)
    add_losses(int64_t rows, const double* losses, const double* right, float* out) {
  __shared__ double place[2][32];
  double loss = 0, count = 0;
  for (int64_t i = threadIdx.x; i < rows; i += blockDim.x) {
    loss += losses[i];
    if (right) count += right[i];
  }
  loss = block_sum(loss, place[0]);
  count = block_sum(count, place[1]);
  if (threadIdx.x != 0) return;
  out[0] = static_cast<float>(loss);
  out[1] = right ? static_cast<float>(count) : -1.0f;
}

}  // namespace

const char* softmax_loss(void* stream, const softmax_loss_data& d) {
  return with_type(d.type, [&]<class T>(T*) { return start_losses<T>(stream, d); });
}

const char* sum_losses(void* stream, int64_t rows, const double* losses, const double* right, float* out) {
  add_losses<<<1, 1024, 0, as_stream(stream)>>>(rows, losses, right, out);
  return started();
}

}  // namespace sy::kernels::cuda
