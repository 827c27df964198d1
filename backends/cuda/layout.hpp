// The strides of a copy, made as simple as they are.
#pragma once

#include "kernels.hpp"
#include "switchyard/base.h"

namespace sy::cuda {

/// Axes of one element are left out, the rest is sorted so that writes run forward, and neighbours that form one longer
/// run on both sides become one axis. At least one axis.
Strided simplified(const sy_view& to, const sy_view& from);

inline bool is_one_run(const Strided& s) { return s.axes == 1 && s.to[0] == 1 && s.from[0] == 1; }

/// The copy itself, between two places in host memory.
void copy_on_host(void* to, const void* from, std::size_t element_bytes, const Strided& layout);

}  // namespace sy::cuda
