// Sums over rows are made in groups of consecutive rows, and the groups are added in order. How the rows are grouped
// depends on their number alone: neither on threads nor on multiprocessors.
#pragma once

#include <algorithm>
#include <cstdint>

namespace sy::kernels {

struct row_groups {
  int64_t each = 1;   // rows of a group, but for the last
  int64_t count = 1;  // groups

  row_groups() = default;
  /// Groups of `least` rows, or of more where there would be more than `most` groups.
  constexpr row_groups(int64_t rows, int64_t least, int64_t most)
      : each(std::max(least, (rows + most - 1) / most)), count(std::max<int64_t>(1, (rows + each - 1) / each)) {}
};

/// On the CPU a group is what one thread sums.
constexpr row_groups cpu_groups(int64_t rows) { return {rows, 32, 64}; }

}  // namespace sy::kernels
