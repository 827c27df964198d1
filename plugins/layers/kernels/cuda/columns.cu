#include "column_sums.cuh"
#include "twins.hpp"

namespace sy::kernels::cuda {
namespace {

template <class T, int N>
struct reading {
  static constexpr int ahead = 8;
  using loaded = raw<T, N>;
  const T* x;
  int64_t columns;

  __device__ const T* column(int64_t c) const { return x + c; }
  __device__ loaded load(const T* at, int64_t row) const { return cuda::load<N>(at + row * columns); }
  __device__ void finish(const T*, int64_t, const loaded& from, wide_t<T> (&values)[N]) const { widen(from, values); }
};

/// The parts of pack, by the column where each begins.
template <class T, int N>
struct packing {
  static constexpr int ahead = 8;
  using loaded = raw<T, N>;
  packed_part parts[most_parts];
  int64_t begin[most_parts];
  int n_parts;
  int64_t columns, head_width;
  uint32_t inner;
  T* to;

  struct place {
    const T* from;
    int64_t outer_stride, inner_stride;
    T* to;
  };
  __device__ place column(int64_t c) const {
    int k = 0;
#pragma unroll
    for (int i = 1; i < most_parts; ++i)
      if (i < n_parts && c >= begin[i]) k = i;
    packed_part part = parts[0];
    int64_t start = 0;
#pragma unroll
    for (int i = 1; i < most_parts; ++i)
      if (i == k) part = parts[i], start = begin[i];
    const int64_t head = (c - start) / head_width, within = (c - start) % head_width;
    return {static_cast<const T*>(part.data) + head * part.head_stride + within, part.outer_stride, part.inner_stride,
            to + c};
  }
  __device__ loaded load(const place& at, int64_t row) const {
    const auto r = static_cast<uint32_t>(row);
    return cuda::load<N>(at.from + r / inner * at.outer_stride + r % inner * at.inner_stride);
  }
  __device__ void finish(const place& at, int64_t row, const loaded& from, wide_t<T> (&values)[N]) const {
    store<N>(at.to + row * columns, from);
    widen(from, values);
  }
};

/// Packets stay within heads and begin at 16 bytes.
template <class T>
bool in_packets(int64_t head_width, const packed_part* parts, int64_t n_parts, const void* to) {
  bool whole = head_width % packet<T> == 0 && aligned(to);
  for (int64_t k = 0; k < n_parts; ++k) {
    const packed_part& p = parts[k];
    whole = whole && aligned(p.data) && p.outer_stride % packet<T> == 0 && p.inner_stride % packet<T> == 0 &&
            p.head_stride % packet<T> == 0;
  }
  return whole;
}

template <class T, int N>
const char* pack_of(void* stream, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
                    int64_t n_parts, void* to, sum bias_gradient, void* scratch) {
  packing<T, N> op{};
  op.n_parts = static_cast<int>(n_parts), op.head_width = head_width, op.inner = static_cast<uint32_t>(inner);
  op.to = static_cast<T*>(to);
  for (int64_t k = 0; k < n_parts; ++k) {
    op.parts[k] = parts[k], op.begin[k] = op.columns;
    op.columns += parts[k].heads * head_width;
  }
  return start_walk<wide_t<T>, N>(stream, op, rows, op.columns, bias_gradient, scratch);
}

}  // namespace

const char* column_sum(void* stream, sy_dtype type, int64_t rows, int64_t columns, const void* x, sum to,
                       void* scratch) {
  return with_type(type, [&]<class T>(T*) {
    return with_packets<T>(columns % packet<T> == 0 && aligned(x), [&]<int N>(std::integral_constant<int, N>) {
      return start_walk<wide_t<T>, N>(stream, reading<T, N>{static_cast<const T*>(x), columns}, rows, columns, to,
                                      scratch);
    });
  });
}

uint64_t column_sum_scratch(sy_dtype type, int64_t rows, int64_t columns) {
  return static_cast<uint64_t>(walk_groups(rows).count * columns) * wide(type).bits / 8;
}

const char* pack(void* stream, sy_dtype type, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
                 int64_t n_parts, void* to, sum bias_gradient, void* scratch) {
  if (rows >= int64_t{1} << 32) return "more than 2^32 rows";
  return with_type(type, [&]<class T>(T*) {
    return with_packets<T>(in_packets<T>(head_width, parts, n_parts, to), [&]<int N>(std::integral_constant<int, N>) {
      return pack_of<T, N>(stream, rows, inner, head_width, parts, n_parts, to, bias_gradient, scratch);
    });
  });
}

}  // namespace sy::kernels::cuda
