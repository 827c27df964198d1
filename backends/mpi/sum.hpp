// Sums of arrays from several ranks.
#pragma once

#include <span>

#include "switchyard/base.h"

namespace sy::mpi {

/// to[i] = from[0][i] + from[1][i] + ..., in this order; integers wrap; fp16 and bf16 are added in fp32 and rounded
/// once. `to` may be one of them.
void sum(void* to, std::span<const void* const> from, int64_t count, sy_dtype dtype);

}  // namespace sy::mpi
