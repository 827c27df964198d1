// LibTorch's CUDA half, which nothing links: the glue and the layers need torch_cpu and c10 alone.
#pragma once

namespace sy {

/// Opens libtorch_cuda.so beside libtorch_cpu.so, the first time; its operators then work on GPUs. Throws
/// sy::fault(SY_E_UNAVAILABLE): a LibTorch without it, or without the libraries that it needs. [any]
void need_cuda_half();

}  // namespace sy
