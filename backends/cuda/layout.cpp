#include "layout.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::cuda {
namespace {

struct Axis {
  int64_t size, to, from;
};

void copy_axes(char* to, const char* from, std::size_t bytes, const Strided& s, int axis) {
  const auto step = static_cast<int64_t>(bytes);
  if (axis + 1 == s.axes && s.to[axis] == 1 && s.from[axis] == 1) {
    std::memcpy(to, from, static_cast<std::size_t>(s.size[axis]) * bytes);
    return;
  }
  for (int64_t i = 0; i < s.size[axis]; ++i, to += s.to[axis] * step, from += s.from[axis] * step) {
    if (axis + 1 == s.axes)
      std::memcpy(to, from, bytes);
    else
      copy_axes(to, from, bytes, s, axis + 1);
  }
}

}  // namespace

Strided simplified(const sy_view& to, const sy_view& from) {
  std::vector<Axis> axes;
  for (int32_t d = 0; d < to.ndim; ++d)
    if (to.shape[d] != 1) axes.push_back({to.shape[d], to.strides[d], from.strides[d]});
  std::stable_sort(axes.begin(), axes.end(),
                   [](const Axis& a, const Axis& b) { return std::llabs(a.to) > std::llabs(b.to); });
  std::vector<Axis> merged;
  for (const Axis& a : axes) {
    if (!merged.empty() && merged.back().to == a.to * a.size && merged.back().from == a.from * a.size)
      merged.back() = {merged.back().size * a.size, a.to, a.from};
    else
      merged.push_back(a);
  }
  if (merged.empty()) merged.push_back({1, 1, 1});
  if (merged.size() > most_axes)
    throw fault(SY_E_ARGUMENT, "a strided copy has at most " + std::to_string(most_axes) + " dimensions");
  Strided s;
  for (const Axis& a : merged) {
    s.size[s.axes] = a.size, s.to[s.axes] = a.to, s.from[s.axes] = a.from;
    ++s.axes;
  }
  return s;
}

void copy_on_host(void* to, const void* from, std::size_t element_bytes, const Strided& layout) {
  copy_axes(static_cast<char*>(to), static_cast<const char*>(from), element_bytes, layout, 0);
}

}  // namespace sy::cuda
