// LibTorch's CUDA half, which nothing links: the glue and the layers need torch_cpu and c10 alone.
#pragma once

#include "cuda/matrix_product.hpp"

namespace sy {

/// Opens libtorch_cuda.so beside libtorch_cpu.so, the first time; its operators then work on GPUs, and its allocator
/// charges blocks to running_origin(). Throws sy::fault(SY_E_UNAVAILABLE): a LibTorch without it, or without the
/// libraries that it needs. [any]
void need_cuda_half();

/// The first time on a thread and stream, which is the current one: what libraries keep for it. [stage]
void need_libraries(const void* native_stream);

/// On LibTorch's current device and stream. Throws std::runtime_error. [stage]
void multiply_on_gpu(const MatrixProduct& p);

}  // namespace sy
