#include "cuda_half.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <mutex>
#include <set>
#include <string>

#include "allocator.hpp"
#include "cuda/half.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

const CudaHalf* half = nullptr;

/// Of the library that holds this function.
template <class Function>
std::string folder_of(Function* function) {
  Dl_info where{};
  if (!dladdr(reinterpret_cast<const void*>(function), &where) || !where.dli_fname) return "";
  const std::string file = where.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

void* open_library(const std::string& file, const std::string& remedy) {
  if (void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE)) return library;
  const char* why = dlerror();
  throw fault(SY_E_UNAVAILABLE,
              std::string("LibTorch layers cannot run on GPUs: ") + (why ? why : file.c_str()) + remedy);
}

void open_cuda_half() {
  open_library(folder_of(&at::globalContext) + "libtorch_cuda.so",
               "; `pip install torch==2.11.*` brings LibTorch with CUDA");
  at::globalContext().lazyInitDevice(at::kCUDA);
  void* const ours = open_library(folder_of(&open_cuda_half) + "libswitchyard_torch_cuda.so.0",
                                  "; it is built where the CUDA Toolkit is found");
  half = static_cast<const CudaHalf*>(dlsym(ours, "switchyard_torch_cuda"));
  half->charge_blocks({&running_origin, &charge});
}

}  // namespace

void need_cuda_half() {
  static std::once_flag once;
  std::call_once(once, open_cuda_half);
}

void multiply_on_gpu(const MatrixProduct& p) { half->multiply(p); }

void need_libraries(const void* native_stream) {
  static thread_local std::set<const void*> known;
  if (!known.insert(native_stream).second) return;
  const sy_origin* const before = exchange_origin(nullptr);
  half->open_libraries();
  exchange_origin(before);
}

}  // namespace sy
