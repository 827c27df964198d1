// CUDA's return codes as faults.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

namespace sy::cuda {

/// "cudaErrorInvalidValue: invalid argument"
std::string text_of(cudaError_t code);

/// Throws sy::fault(SY_E_DEVICE) with what failed and CUDA's text; the thread's last error is cleared. cudaSuccess:
/// does nothing. Codes of kernels that failed earlier come out of later calls, so that `what` names where it was
/// noticed.
void must(cudaError_t code, const std::string& what);

/// "CUDA_VISIBLE_DEVICES is \"1\"", or "... is not set".
std::string visible_devices();

}  // namespace sy::cuda
