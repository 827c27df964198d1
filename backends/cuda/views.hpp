// What the backend's calls demand of views.
#pragma once

#include <string>

#include "switchyard/cpp/plugin.hpp"

namespace sy::cuda {

inline bool on_host(const sy_view& v) { return v.device.type == SY_DEVICE_CPU; }

inline std::size_t element_bytes(const sy_view& v) { return v.dtype.bits * v.dtype.lanes / 8u; }
inline std::size_t bytes(const sy_view& v) { return static_cast<std::size_t>(count(v)) * element_bytes(v); }

inline std::string shape_text(const sy_view& v) {
  std::string text = "[";
  for (int32_t d = 0; d < v.ndim; ++d) text += (d ? ", " : "") + std::to_string(v.shape[d]);
  return text + "]";
}

inline void expect_same_shape(const sy_view& to, const sy_view& from) {
  bool equal = to.ndim == from.ndim;
  for (int32_t d = 0; equal && d < to.ndim; ++d) equal = to.shape[d] == from.shape[d];
  if (!equal) throw fault(SY_E_ARGUMENT, "expected the shape " + shape_text(to) + ", found " + shape_text(from));
}

inline void expect_contiguous(const sy_view& v) {
  int64_t stride = 1;
  if (count(v) == 0) return;
  for (int32_t d = v.ndim; d-- > 0; stride *= v.shape[d])
    if (v.shape[d] != 1 && v.strides[d] != stride)
      throw fault(SY_E_ARGUMENT, "expected a contiguous view of shape " + shape_text(v));
}

}  // namespace sy::cuda
