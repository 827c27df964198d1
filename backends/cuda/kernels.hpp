// Kernels of the backend and how to launch them. Pointers are device memory (or host memory that the device can reach);
// everything is enqueued on a stream of the current device, and launches are checked by whoever calls cudaGetLastError.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "switchyard/decide.h"

namespace sy::cuda {

/// Element types that kernels know.
enum class Number : int { fp64, fp32, fp16, bf16 };

/// to[i] = from[i], rounded once to nearest even; NaN stays NaN.
void launch_cast(void* to, Number to_type, const void* from, Number from_type, int64_t count, cudaStream_t stream);

/// to[i] += from[i], the sum formed in fp32 (in fp64 when either type is fp64) and rounded once.
void launch_accumulate(void* to, Number to_type, const void* from, Number from_type, int64_t count,
                       cudaStream_t stream);

constexpr int most_axes = 8;

/// A copy between two strided layouts; strides in elements, axis 0 the outermost.
struct Strided {
  int axes = 0;
  int64_t size[most_axes]{}, to[most_axes]{}, from[most_axes]{};
};

/// element_bytes: 1, 2, 4, 8 or 16.
void launch_strided(void* to, const void* from, int element_bytes, const Strided& layout, int64_t count,
                    cudaStream_t stream);

/// sy_decide_here by one thread: its sums have an order. Some thousands of squares, read ahead of their additions.
void launch_decide(const sy_decide& terms, cudaStream_t stream);

}  // namespace sy::cuda
