// Products of matrices on a GPU by cuBLASLt, with what LibTorch's operators leave out: a bias and a matrix to add at
// once, and a result in fp32 of 16-bit operands.
#pragma once

#include <cstdint>

#include "switchyard/base.h"

namespace sy {

/// d [m, n] = op(a) [m, k] op(b) [k, n] + bias [n] in each row + c [m, n]; all row-major and contiguous, on the current
/// device.
struct MatrixProduct {
  int64_t m, n, k;
  const void *a, *b;
  bool a_transposed, b_transposed;  // stored as [k, m], as [n, k]
  sy_dtype type;                    // of a, b and bias: bf16 or fp16
  const void* bias;                 // NULL: none
  const void* c;                    // NULL: none; of d's type, may be d
  void* d;
  sy_dtype d_type;  // type, or fp32
};

}  // namespace sy
