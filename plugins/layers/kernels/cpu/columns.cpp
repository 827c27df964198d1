#include "../columns.hpp"

#include "column_walk.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

/// Rows of one head of each part follow one another in what is summed; see pack in columns.hpp.
template <class T>
void pack_rows(const lane& on, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
               int64_t n_parts, T* to, int64_t columns) {
  each(on, rows, rows_at_once(columns), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      T* at = to + row * columns;
      for (int64_t k = 0; k < n_parts; ++k) {
        const packed_part& part = parts[k];
        const T* from =
            static_cast<const T*>(part.data) + row / inner * part.outer_stride + row % inner * part.inner_stride;
        for (int64_t h = 0; h < part.heads; ++h, at += head_width)
          std::memcpy(at, from + h * part.head_stride, static_cast<std::size_t>(head_width) * sizeof(T));
      }
    }
  });
}

}  // namespace

void column_sum(const lane& on, sy_dtype type, int64_t rows, int64_t columns, const void* x, sum to, void* scratch) {
  if (!to) return;
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const T* from = static_cast<const T*>(x);
    column_walk<wide_t<T>>(on, rows, columns, to, scratch,
                           [&](int64_t row, int64_t i, int m) { return load(from + row * columns + i, m); });
  });
}

void pack(const lane& on, sy_dtype type, int64_t rows, int64_t inner, int64_t head_width, const packed_part* parts,
          int64_t n_parts, void* to, sum bias_gradient, void* scratch) {
  int64_t columns = 0;
  for (int64_t k = 0; k < n_parts; ++k) columns += parts[k].heads * head_width;
  with_type(type, [&](auto t) {
    pack_rows(on, rows, inner, head_width, parts, n_parts, static_cast<decltype(t)*>(to), columns);
  });
  SY_KERNELS_FOR::column_sum(on, type, rows, columns, to, bias_gradient, scratch);
}

}  // namespace sy::kernels::SY_KERNELS_FOR
