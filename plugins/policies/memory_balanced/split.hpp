// A contiguous placement: stage s holds the layers first[s] .. first[s + 1] - 1 and lies on device[s].
#pragma once

#include <compare>
#include <cstdint>
#include <vector>

namespace sy::place {

struct split {
  std::vector<int32_t> first;
  std::vector<int32_t> device;  // each at most once

  std::size_t stages() const { return first.size(); }
  int32_t end(std::size_t s, int32_t layers) const { return s + 1 < first.size() ? first[s + 1] : layers; }
  auto operator<=>(const split&) const = default;
};

}  // namespace sy::place
