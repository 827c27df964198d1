// Copies between views of equal shape with any strides: 0 (broadcast), negative, transposed.
#pragma once

#include "switchyard/base.h"

namespace sy::cpu {

/// Both views have the same shape and element size (1, 2, 4, 8 or 16 bytes). Elements of one view that share an address
/// are written in the order of its largest strides first.
void strided_copy(const sy_view& to, const sy_view& from);

}  // namespace sy::cpu
