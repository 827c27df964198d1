// A pass over the elements of a matrix that sums its columns on the way.
#pragma once

#include "../row_groups.hpp"
#include "numbers.hpp"

namespace sy::kernels::SY_KERNELS_FOR {

/// element(row, column, lanes) for all of [rows, columns], lanes columns at a time; to [columns] += the sums of what it
/// returns. scratch: [groups, columns] when there is a `to`. Four rows at a time, so that sums are read and written
/// less. prepare(row) comes before anything else of a row.
template <class W, class Prepare, class Element>
void column_walk(const lane& on, int64_t rows, int64_t columns, sum to, void* scratch, const Prepare& prepare,
                 const Element& element) {
  if (!to) {
    each(on, rows, rows_at_once(columns), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        prepare(row);
        by_lanes<W>(columns, [&](int64_t i, int m) { element(row, i, m); });
      }
    });
    return;
  }
  const row_groups groups = cpu_groups(rows);
  W* const sums = static_cast<W*>(scratch);
  each(on, groups.count, rows_at_once(groups.each * columns), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      W* total = sums + group * columns;
      std::memset(total, 0, static_cast<std::size_t>(columns) * sizeof(W));
      const int64_t last = std::min(rows, (group + 1) * groups.each);
      int64_t row = group * groups.each;
      for (; row + 4 <= last; row += 4) {
        for (int64_t k = 0; k < 4; ++k) prepare(row + k);
        by_lanes<W>(columns, [&](int64_t i, int m) {
          const numbers<W> a = element(row, i, m), b = element(row + 1, i, m);
          const numbers<W> c = element(row + 2, i, m), d = element(row + 3, i, m);
          store(total + i, load(total + i, m) + ((a + b) + (c + d)), m);
        });
      }
      for (; row < last; ++row) {
        prepare(row);
        by_lanes<W>(columns, [&](int64_t i, int m) { store(total + i, load(total + i, m) + element(row, i, m), m); });
      }
    }
  });
  each(on, columns, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t group = 1; group < groups.count; ++group)
      by_lanes<W>(end - begin, [&](int64_t i, int m) {
        W* total = sums + begin + i;
        store(total, load(total, m) + load(total + group * columns, m), m);
      });
    add_to(to, begin, end - begin, sums + begin);
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
