// Element-wise work on contiguous blocks of float types: fp64, fp32, fp16, bf16.
#pragma once

#include <cstdint>

#include "switchyard/base.h"

namespace sy::cpu {

/// to[i] = from[i], rounded once to nearest even. Either type unknown: sy::fault(SY_E_ARGUMENT).
void cast(void* to, sy_dtype to_type, const void* from, sy_dtype from_type, int64_t count);

/// to[i] += from[i]. The sum is formed in fp32 (in fp64 when either type is fp64) and rounded once to `to`'s type.
void accumulate(void* to, sy_dtype to_type, const void* from, sy_dtype from_type, int64_t count);

}  // namespace sy::cpu
