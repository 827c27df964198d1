// LibTorch's allocators charge each block to the device whose call is running. The CPU's is replaced by one of ours.
#pragma once

#include "switchyard/base.h"

namespace sy {

/// Whom blocks of this OS thread are charged to; NULL: nobody.
const sy_origin* exchange_origin(const sy_origin* origin);

/// Charges a block to an account; negative: gives it back. Throws sy::fault(SY_E_NO_MEMORY) over a budget.
void charge(const sy_origin* origin, int64_t bytes);
/// Whom exchange_origin() named last.
const sy_origin* running_origin();

/// Once per process. Blocks that LibTorch took before go back where they came from.
void install_counting_allocator();

}  // namespace sy
