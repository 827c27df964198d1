#include "failure.hpp"

#include <cstdlib>

#include "switchyard/cpp/plugin.hpp"

namespace sy::cuda {

std::string text_of(cudaError_t code) { return std::string(cudaGetErrorName(code)) + ": " + cudaGetErrorString(code); }

void must(cudaError_t code, const std::string& what) {
  if (code == cudaSuccess) return;
  cudaGetLastError();
  throw fault(SY_E_DEVICE, what + ": " + text_of(code));
}

std::string visible_devices() {
  const char* value = std::getenv("CUDA_VISIBLE_DEVICES");
  return value ? "CUDA_VISIBLE_DEVICES is \"" + std::string(value) + "\"" : "CUDA_VISIBLE_DEVICES is not set";
}

}  // namespace sy::cuda
