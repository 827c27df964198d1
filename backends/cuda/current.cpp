#include "current.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>

#include <string>

#include "failure.hpp"

namespace sy::cuda {
namespace {

/// The two driver calls that the runtime has no counterpart of; the driver library is not linked.
struct Driver {
  CUresult (*context)(CUcontext*) = nullptr;
  CUresult (*set_context)(CUcontext) = nullptr;
  CUresult (*state)(CUdevice, unsigned* flags, int* active) = nullptr;

  static const Driver& get() {
    static const Driver driver;
    return driver;
  }

 private:
  Driver() {
    find("cuCtxGetCurrent", context);
    find("cuCtxSetCurrent", set_context);
    find("cuDevicePrimaryCtxGetState", state);
  }
  template <class Function>
  static void find(const char* name, Function& slot) {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
    must(cudaGetDriverEntryPointByVersion(name, &found, 13000, cudaEnableDefault, &result),
         std::string("looking for the driver's ") + name);
    slot = reinterpret_cast<Function>(found);
  }
};

bool has_context(int device) {
  unsigned flags = 0;
  int active = 0;
  return Driver::get().state(device, &flags, &active) == CUDA_SUCCESS && active != 0;
}

}  // namespace

uint64_t make_current(int device) {
  CUcontext context = nullptr;
  Driver::get().context(&context);
  int before = 0;
  must(cudaGetDevice(&before), "asking for the current device");
  if (before == device && context) return 0;
  must(cudaSetDevice(device), "making cuda:" + std::to_string(device) + " the current device");
  return static_cast<uint64_t>(before) + 1;
}

void restore(uint64_t token) noexcept {
  if (token == 0) return;
  const int before = static_cast<int>(token - 1);
  int now = before;
  if (cudaGetDevice(&now) != cudaSuccess || now == before) return;
  if (!has_context(before)) {
    Driver::get().set_context(nullptr);
    if (cudaGetDevice(&now) == cudaSuccess && now == before) return;
  }
  cudaSetDevice(before);
}

}  // namespace sy::cuda
