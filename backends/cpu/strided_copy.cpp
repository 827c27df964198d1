#include "strided_copy.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::cpu {
namespace {

struct axis {
  int64_t size, to, from;  // strides in elements
};

// Axes of one element are left out, the rest is sorted so that writes run forward, and neighbours that form one longer
// run on both sides become one axis.
std::vector<axis> simplified(const sy_view& to, const sy_view& from) {
  std::vector<axis> axes;
  for (int32_t d = 0; d < to.ndim; ++d)
    if (to.shape[d] != 1) axes.push_back({to.shape[d], to.strides[d], from.strides[d]});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const axis& a, const axis& b) { return std::llabs(a.to) > std::llabs(b.to); });
  std::vector<axis> merged;
  for (const axis& a : axes) {
    if (!merged.empty() && merged.back().to == a.to * a.size && merged.back().from == a.from * a.size) {
      merged.back() = {merged.back().size * a.size, a.to, a.from};
    } else {
      merged.push_back(a);
    }
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  return merged;
}

template <class Element>
void copy_axes(Element* to, const Element* from, const axis* a, std::size_t n) {
  if (n > 1) {
    for (int64_t i = 0; i < a->size; ++i) copy_axes(to + i * a->to, from + i * a->from, a + 1, n - 1);
  } else if (a->to == 1 && a->from == 1) {
    std::memmove(to, from, static_cast<std::size_t>(a->size) * sizeof(Element));
  } else {
    for (int64_t i = 0; i < a->size; ++i) to[i * a->to] = from[i * a->from];
  }
}

template <class Element>
void copy_as(const sy_view& to, const sy_view& from) {
  const std::vector<axis> axes = simplified(to, from);
  copy_axes(data<Element>(to), static_cast<const Element*>(data<Element>(from)), axes.data(), axes.size());
}

}  // namespace

void strided_copy(const sy_view& to, const sy_view& from) {
  if (count(to) == 0) return;
  switch (to.dtype.bits * to.dtype.lanes) {
    case 8:
      return copy_as<uint8_t>(to, from);
    case 16:
      return copy_as<uint16_t>(to, from);
    case 32:
      return copy_as<uint32_t>(to, from);
    case 64:
      return copy_as<uint64_t>(to, from);
    case 128:
      return copy_as<std::array<uint64_t, 2>>(to, from);
  }
  throw fault(SY_E_ARGUMENT, "expected elements of 1, 2, 4, 8 or 16 bytes, found " +
                                 std::to_string(to.dtype.bits * to.dtype.lanes) + " bits");
}

}  // namespace sy::cpu
