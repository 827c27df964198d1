// LibTorch's CPU allocator, replaced by one that charges each block to the device whose call is running.
#pragma once

#include "switchyard/base.h"

namespace sy {

/// Whom blocks of this OS thread are charged to; NULL: nobody.
const sy_origin* exchange_origin(const sy_origin* origin);

/// Once per process. Blocks that LibTorch took before go back where they came from.
void install_counting_allocator();

}  // namespace sy
