#include "../embed.hpp"

#include "../whole.hpp"
#include "numbers.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

constexpr int64_t columns_at_once = 512;

/// gradient [at, at + width] += the sum of n rows of dy, row(0) .. row(n - 1).
template <class T, class Row>
void add_rows(sum gradient, int64_t at, int64_t width, int64_t n, const T* dy, const Row& row) {
  using W = wide_t<T>;
  for (int64_t first = 0; first < width; first += columns_at_once) {
    const int64_t columns = std::min(columns_at_once, width - first);
    W total[columns_at_once];
    const T* opening = dy + row(0) * width + first;
    by_lanes<W>(columns, [&](int64_t i, int m) { store(total + i, load(opening + i, m)); });
    for (int64_t k = 1; k < n; ++k) {
      const T* from = dy + row(k) * width + first;
      by_lanes<W>(columns, [&](int64_t i, int m) {
        store(total + i, load(static_cast<const W*>(total) + i) + load(from + i, m));
      });
    }
    add_to(gradient, at + first, columns, static_cast<const W*>(total));
  }
}

}  // namespace

void embed(const lane& on, const embed_size& size, const void* ids, const void* token, const void* position, void* y) {
  with_type(size.type, [&](auto t) {
    using T = decltype(t);
    using W = wide_t<T>;
    const T *table = static_cast<const T*>(token), *positions = static_cast<const T*>(position);
    each(on, size.rows * size.time, rows_at_once(size.width), [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const T* from = table + whole_at(ids, size.id_type, k) * size.width;
        T* to = static_cast<T*>(y) + k * size.width;
        if (!positions) {
          std::memcpy(to, from, static_cast<std::size_t>(size.width) * sizeof(T));
          continue;
        }
        const T* more = positions + k % size.time * size.width;
        by_lanes<W>(size.width, [&](int64_t i, int m) { store(to + i, load(from + i, m) + load(more + i, m), m); });
      }
    });
  });
}

void embed_backward(const lane& on, const embed_size& size, const uint64_t* order, const void* dy, sum token,
                    sum position) {
  const int64_t ids = size.rows * size.time;
  with_type(size.type, [&](auto t) {
    using T = decltype(t);
    const T* from = static_cast<const T*>(dy);
    if (token)
      each(on, ids, rows_at_once(size.width), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k) {
          const auto id = static_cast<int64_t>(order[k] >> 32);
          if (k > 0 && static_cast<int64_t>(order[k - 1] >> 32) == id) continue;  // who sums the first sums all
          int64_t n = 1;
          while (k + n < ids && static_cast<int64_t>(order[k + n] >> 32) == id) ++n;
          add_rows(token, id * size.width, size.width, n, from,
                   [&](int64_t i) { return static_cast<int64_t>(order[k + i] & 0xFFFFFFFFu); });
        }
      });
    if (position)
      each(on, size.time, rows_at_once(size.rows * size.width), [&](int64_t begin, int64_t end) {
        for (int64_t k = begin; k < end; ++k)
          add_rows(position, k * size.width, size.width, size.rows, from, [&](int64_t i) { return i * size.time + k; });
      });
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
