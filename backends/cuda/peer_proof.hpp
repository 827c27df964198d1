// Does a copy between two GPUs arrive? Wrong access settings silently give zeros on some machines.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace sy::cuda {

/// Gives each device access to the other's pool where the machine allows it, sends a random pattern from one to the
/// other and back, and compares. "" when it arrived, else what was wrong. Waits; leaves the current device as it was.
std::string peer_copies_fail(int from, cudaMemPool_t from_pool, int to, cudaMemPool_t to_pool);

}  // namespace sy::cuda
