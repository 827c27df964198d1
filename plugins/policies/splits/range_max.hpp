// The largest of a run of numbers in constant time, after n log n steps.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <vector>

namespace sy::place {

class range_max {
 public:
  range_max() = default;
  explicit range_max(std::vector<double> numbers) : levels_{std::move(numbers)} {
    const std::size_t n = levels_[0].size();
    for (std::size_t width = 2; width <= n; width *= 2) {
      const std::vector<double>& half = levels_.back();
      std::vector<double> level(n - width + 1);
      for (std::size_t i = 0; i < level.size(); ++i) level[i] = std::max(half[i], half[i + width / 2]);
      levels_.push_back(std::move(level));
    }
  }

  std::size_t size() const { return levels_[0].size(); }
  /// Of the numbers first .. end - 1; 0 when there are none.
  double of(int32_t first, int32_t end) const {
    if (end <= first) return 0;
    const auto count = static_cast<uint32_t>(end - first);
    const auto level = static_cast<std::size_t>(std::bit_width(count) - 1);
    const std::vector<double>& at = levels_[level];
    return std::max(at[static_cast<std::size_t>(first)], at[static_cast<std::size_t>(end) - (std::size_t{1} << level)]);
  }

 private:
  std::vector<std::vector<double>> levels_{1};  // [k][i]: the largest of 2^k numbers from i on
};

}  // namespace sy::place
