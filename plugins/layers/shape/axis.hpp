// Axes in options.
#pragma once

#include "blocks/cost.hpp"

namespace sy {

inline std::string shape_text(const sy_port& p) {
  std::string text;
  for (int32_t d = 0; d < p.ndim; ++d) text += (d ? ", " : "[") + std::to_string(p.shape[d]);
  return text + "]";
}

/// Counted from the front; refuses axis 0 and axes that are not there.
inline std::size_t axis_of(int64_t axis, const sy_port& x, const char* layer) {
  const int64_t front = axis < 0 ? axis + x.ndim : axis;
  if (front < 1 || front >= x.ndim)
    throw fault(SY_E_CONFIG, std::string(layer) + " along axis " + std::to_string(axis) + " of " + shape_text(x) +
                                 ": the axis must exist and not be 0, the samples");
  return static_cast<std::size_t>(front);
}

}  // namespace sy
