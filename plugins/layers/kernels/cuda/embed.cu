#include <cub/device/device_radix_sort.cuh>

#include "../whole.hpp"
#include "elements.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

constexpr int threads = 256;

template <class T>
struct embed_arguments {
  const void* ids;
  sy_dtype id_type;
  int64_t places, time, width;
  const T *token, *position;
  T* y;
};

/// A warp for each place.
template <class T, int N>
__global__ void __launch_bounds__(threads) look_up(const embed_arguments<T> a) {
  const int64_t place = int64_t{blockIdx.x} * (threads / 32) + threadIdx.x / 32;
  if (place >= a.places) return;
  const T* from = a.token + whole_at(a.ids, a.id_type, place) * a.width;
  const T* more = a.position ? a.position + place % a.time * a.width : nullptr;
  T* to = a.y + place * a.width;
#pragma unroll 4
  for (int64_t i = threadIdx.x % 32 * N; i < a.width; i += 32 * N) {
    raw<T, N> made = load<N>(from + i);
    if (more) {
      wide_t<T> v[N], w[N];
      widen(made, v);
      widen(load<N>(more + i), w);
#pragma unroll
      for (int k = 0; k < N; ++k) v[k] += w[k];
      made = narrow<T, N>(v);
    }
    store<N>(to + i, made);
  }
}

// ---- backward -------------------------------------------------------------------------------------------------------
//
// The places are sorted by id, which keeps the order of places within an id: a run. Sorted places are worked on in
// chunks of 32. A run within one chunk is added to the gradient at once. Of a run over several chunks, each leaves its
// piece in scratch memory, the first one in `opening`, the others in `carried`; then the pieces are added in order.

constexpr int chunk = 32, places_ahead = 4;

template <class W>
struct sorted_places {
  const uint32_t *ids, *places;  // in the order of ids
  int64_t count, width;
  W *opening, *carried;  // [chunks][width]
};

__global__ void __launch_bounds__(threads)
    list_places(const void* ids, sy_dtype type, int64_t n, uint32_t* keys, uint32_t* places) {
  const int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x;
  if (i >= n) return;
  keys[i] = static_cast<uint32_t>(whole_at(ids, type, i));
  places[i] = static_cast<uint32_t>(i);
}

/// blockIdx.x: the chunk; threads and blockIdx.y: packets of columns.
template <class T, int N>
__global__ void __launch_bounds__(threads) sum_chunks(const sorted_places<wide_t<T>> s, const T* dy, sum token) {
  using W = wide_t<T>;
  __shared__ uint32_t ids[chunk], places[chunk];
  const int64_t first = int64_t{blockIdx.x} * chunk;
  const int n = static_cast<int>(s.count - first < chunk ? s.count - first : chunk);
  if (threadIdx.x < n) {
    ids[threadIdx.x] = s.ids[first + threadIdx.x];
    places[threadIdx.x] = s.places[first + threadIdx.x];
  }
  __syncthreads();
  const int64_t column = (int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * N;
  if (column >= s.width) return;
  bool opened_here = first == 0 || s.ids[first - 1] != ids[0];
  const bool goes_on = first + n < s.count && s.ids[first + n] == ids[n - 1];
  W total[N] = {};
  for (int begin = 0; begin < n; begin += places_ahead) {
    raw<T, N> loaded[places_ahead];
#pragma unroll
    for (int k = 0; k < places_ahead; ++k)
      if (begin + k < n) loaded[k] = load<N>(dy + int64_t{places[begin + k]} * s.width + column);
#pragma unroll
    for (int k = 0; k < places_ahead; ++k) {
      const int j = begin + k;
      if (j >= n) break;
      W v[N];
      widen(loaded[k], v);
#pragma unroll
      for (int i = 0; i < N; ++i) total[i] += v[i];
      const bool last = j + 1 == n, ends = last ? !goes_on : ids[j + 1] != ids[j];
      if (!ends && !last) continue;
      if (ends && opened_here) {
        add_to(token, ids[j] * s.width + column, total);
      } else {
        W* to = (opened_here ? s.opening : s.carried) + blockIdx.x * s.width + column;
#pragma unroll
        for (int i = 0; i < N; ++i) to[i] = total[i];
      }
      opened_here = true;
#pragma unroll
      for (int i = 0; i < N; ++i) total[i] = 0;
    }
  }
}

/// Adds the pieces of the run that opens in chunk blockIdx.x and goes on in the next.
template <class W>
__global__ void __launch_bounds__(threads) join_chunks(const sorted_places<W> s, sum token) {
  const int64_t column = int64_t{blockIdx.y} * threads + threadIdx.x;
  const int64_t first = int64_t{blockIdx.x} * chunk;
  int64_t next = first + chunk;
  if (next >= s.count || column >= s.width) return;
  const uint32_t id = s.ids[next - 1];
  if (s.ids[next] != id) return;
  if (first > 0 && s.ids[first - 1] == id) return;  // opened before
  W total[1] = {s.opening[blockIdx.x * s.width + column]};
  for (; next < s.count && s.ids[next] == id; next += chunk) total[0] += s.carried[next / chunk * s.width + column];
  add_to(token, id * s.width + column, total);
}

/// blockIdx.x: the position; threads and blockIdx.y: packets of columns.
template <class T, int N>
__global__ void __launch_bounds__(threads)
    sum_positions(int64_t rows, int64_t time, int64_t width, const T* dy, sum position) {
  const int64_t column = (int64_t{blockIdx.y} * blockDim.x + threadIdx.x) * N, t = blockIdx.x;
  if (column >= width) return;
  wide_t<T> total[N] = {};
#pragma unroll 4
  for (int64_t r = 0; r < rows; ++r) {
    wide_t<T> v[N];
    widen(load<N>(dy + (r * time + t) * width + column), v);
#pragma unroll
    for (int i = 0; i < N; ++i) total[i] += v[i];
  }
  add_to(position, t * width + column, total);
}

/// Scratch: ids and places twice, for sorting; pieces of runs; what the sort itself wants.
struct embed_scratch {
  int64_t count, chunks;
  uint64_t pieces, sort, ids;  // bytes

  explicit embed_scratch(const embed_size& size)
      : count(size.rows * size.time),
        chunks((count + chunk - 1) / chunk),
        pieces(static_cast<uint64_t>(rounded_up(chunks * size.width * wide(size.type).bits / 8, 256))),
        sort(static_cast<uint64_t>(rounded_up((256 << 10) + 4 * count, 256))),
        ids(static_cast<uint64_t>(rounded_up(4 * count, 256))) {}
  uint64_t bytes() const { return 2 * pieces + sort + 4 * ids; }
};

/// Fills the sorted ids and places; the two pieces are where the rest of the memory begins.
template <class W>
const char* sort_places(void* stream, const embed_size& size, const void* ids, void* memory, sorted_places<W>& to) {
  const embed_scratch room(size);
  auto* at = static_cast<char*>(memory);
  const auto next = [&](uint64_t bytes) {
    char* here = at;
    at += bytes;
    return static_cast<void*>(here);
  };
  uint32_t* words[4];
  for (uint32_t*& w : words) w = static_cast<uint32_t*>(next(room.ids));
  to.opening = static_cast<W*>(next(room.pieces)), to.carried = static_cast<W*>(next(room.pieces));
  list_places<<<parts_of(room.count, threads), threads, 0, as_stream(stream)>>>(ids, size.id_type, room.count, words[0],
                                                                                words[2]);
  if (const char* text = started()) return text;
  int bits = 1;
  while (bits < 32 && size.vocabulary > int64_t{1} << bits) ++bits;
  cub::DoubleBuffer<uint32_t> keys(words[0], words[1]), places(words[2], words[3]);
  const auto sort = [&](void* temporary, std::size_t& bytes) {
    return cub::DeviceRadixSort::SortPairs(temporary, bytes, keys, places, static_cast<int>(room.count), 0, bits,
                                           as_stream(stream));
  };
  std::size_t wanted = 0;
  cudaError_t code = sort(nullptr, wanted);
  if (code == cudaSuccess && wanted > room.sort) return "the sort wants more scratch memory than was foreseen";
  wanted = room.sort;
  if (code == cudaSuccess) code = sort(at, wanted);
  if (code != cudaSuccess) {
    cudaGetLastError();
    return cudaGetErrorString(code);
  }
  to.ids = keys.Current(), to.places = places.Current(), to.count = room.count, to.width = size.width;
  return nullptr;
}

/// Threads of a block, and blocks, for packets of N columns.
struct column_blocks {
  unsigned threads, blocks;
  column_blocks(int64_t width, int n) {
    const int64_t packets = (width + n - 1) / n;
    threads = static_cast<unsigned>(packets < cuda::threads ? rounded_up(packets, 32) : cuda::threads);
    blocks = parts_of(packets, threads);
  }
};

template <class T, int N>
const char* token_gradient(void* stream, const embed_size& size, const void* ids, const T* dy, sum token,
                           void* scratch) {
  using W = wide_t<T>;
  sorted_places<W> sorted{};
  if (const char* text = sort_places(stream, size, ids, scratch, sorted)) return text;
  const auto chunks = static_cast<unsigned>(embed_scratch(size).chunks);
  const column_blocks by(size.width, N);
  sum_chunks<T, N><<<dim3(chunks, by.blocks), by.threads, 0, as_stream(stream)>>>(sorted, dy, token);
  if (const char* text = started()) return text;
  if (chunks == 1) return nullptr;
  join_chunks<W><<<dim3(chunks - 1, parts_of(size.width, threads)), threads, 0, as_stream(stream)>>>(sorted, token);
  return started();
}

}  // namespace

const char* embed(void* stream, const embed_size& size, const void* ids, const void* token, const void* position,
                  void* y) {
  return with_type(size.type, [&]<class T>(T*) {
    const embed_arguments<T> a = {ids,
                                  size.id_type,
                                  size.rows * size.time,
                                  size.time,
                                  size.width,
                                  static_cast<const T*>(token),
                                  static_cast<const T*>(position),
                                  static_cast<T*>(y)};
    const bool whole = size.width % packet<T> == 0 && aligned(token, position, y);
    return with_packets<T>(whole, [&]<int N>(std::integral_constant<int, N>) {
      look_up<T, N><<<parts_of(a.places, threads / 32), threads, 0, as_stream(stream)>>>(a);
      return started();
    });
  });
}

const char* embed_backward(void* stream, const embed_size& size, const void* ids, const void* dy, sum token,
                           sum position, void* scratch) {
  return with_type(size.type, [&]<class T>(T*) {
    const T* from = static_cast<const T*>(dy);
    return with_packets<T>(
        size.width % packet<T> == 0 && aligned(dy, token.data, position.data),
        [&]<int N>(std::integral_constant<int, N>) -> const char* {
          if (token)
            if (const char* text = token_gradient<T, N>(stream, size, ids, from, token, scratch)) return text;
          if (!position) return nullptr;
          const column_blocks by(size.width, N);
          sum_positions<T, N><<<dim3(static_cast<unsigned>(size.time), by.blocks), by.threads, 0, as_stream(stream)>>>(
              size.rows, size.time, size.width, from, position);
          return started();
        });
  });
}

uint64_t embed_backward_scratch(const embed_size& size) { return embed_scratch(size).bytes(); }

}  // namespace sy::kernels::cuda
