#include "../columns.hpp"

#include "column_walk.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

/// The parts of one row, side by side.
template <class T>
void pack_row(int64_t row, int64_t inner, int64_t head_width, const packed_part* parts, int64_t n_parts, T* to) {
  for (int64_t k = 0; k < n_parts; ++k) {
    const packed_part& part = parts[k];
    const T* from =
        static_cast<const T*>(part.data) + row / inner * part.outer_stride + row % inner * part.inner_stride;
    for (int64_t h = 0; h < part.heads; ++h, to += head_width) copy(to, from + h * part.head_stride, head_width);
  }
}

}  // namespace

void column_sum(const lane& on, sy_dtype type, int64_t rows, int64_t columns, const void* x, sum to, void* scratch) {
  if (!to) return;
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const T* from = static_cast<const T*>(x);
    const auto nothing = [](int64_t) {};
    column_walk<wide_t<T>>(on, rows, columns, to, scratch, nothing,
                           [&](int64_t row, int64_t i, int m) { return load(from + row * columns + i, m); });
  });
}

void pack(const lane& on, sy_dtype type, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
          int64_t n_parts, void* to, sum bias_gradient, void* scratch) {
  int64_t columns = 0;
  for (int64_t k = 0; k < n_parts; ++k) columns += parts[k].heads * head_width;
  with_type(type, [&](auto t) {
    using T = decltype(t);
    T* const packed = static_cast<T*>(to);
    const auto fill = [&](int64_t row) { pack_row(row, inner, head_width, parts, n_parts, packed + row * columns); };
    if (!bias_gradient) {
      each(on, rows, rows_at_once(columns), [&](int64_t begin, int64_t end) {
        for (int64_t row = begin; row < end; ++row) fill(row);
      });
      return;
    }
    column_walk<wide_t<T>>(on, rows, columns, bias_gradient, scratch, fill, [&](int64_t row, int64_t i, int m) {
      return load(static_cast<const T*>(packed) + row * columns + i, m);
    });
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
