// Sums of a warp and of a block, in an order that depends on the number of threads alone.
#pragma once

#include "elements.cuh"

namespace sy::kernels::cuda {

inline constexpr unsigned all_lanes = 0xFFFFFFFFu;

/// Every lane gets the sum.
template <class W>
__device__ __forceinline__ W warp_sum(W v) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) v += __shfl_xor_sync(all_lanes, v, apart);
  return v;
}
template <class W>
__device__ __forceinline__ W warp_largest(W v) {
#pragma unroll
  for (int apart = 16; apart > 0; apart /= 2) {
    const W other = __shfl_xor_sync(all_lanes, v, apart);
    v = other > v ? other : v;
  }
  return v;
}

/// Every thread of a block of whole warps along x gets the sum. `place`: 32 values in shared memory that nothing else
/// uses before the next barrier after this.
template <class W>
__device__ __forceinline__ W block_sum(W v, W* place) {
  v = warp_sum(v);
  const int warps = static_cast<int>(blockDim.x) / 32;
  if (warps == 1) return v;
  if (threadIdx.x % 32 == 0) place[threadIdx.x / 32] = v;
  __syncthreads();
  W total = place[0];
  for (int k = 1; k < warps; ++k) total += place[k];
  return total;
}

}  // namespace sy::kernels::cuda
