// What the glue and its CUDA half, a library of its own, tell each other. Nothing links the CUDA half.
#pragma once

#include <cstdint>

#include "matrix_product.hpp"
#include "switchyard/base.h"

namespace sy {

/// The accounts, seen from the CUDA half.
struct Charging {
  const sy_origin* (*running)();                           // who pays for this OS thread's blocks; NULL: nobody
  void (*charge)(const sy_origin* origin, int64_t bytes);  // negative: gives back, and never throws. Throws sy::fault
};

/// What libswitchyard_torch_cuda.so offers under the name `switchyard_torch_cuda`.
struct CudaHalf {
  /// LibTorch's CUDA allocator charges each block from now on. Once per process, after LibTorch's CUDA half was opened.
  void (*charge_blocks)(const Charging& accounts);
  /// Makes what libraries keep for the current stream, their workspaces among it, so that no account pays for it.
  void (*open_libraries)();
  /// On the current device and LibTorch's current stream. Throws std::runtime_error.
  void (*multiply)(const MatrixProduct&);
};

void multiply(const MatrixProduct&);

}  // namespace sy
