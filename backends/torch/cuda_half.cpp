#include "cuda_half.hpp"

#include <ATen/Context.h>
#include <dlfcn.h>

#include <mutex>
#include <string>

#include "switchyard/cpp/torch.hpp"

namespace sy {
namespace {

std::string folder_of_torch() {
  Dl_info where{};
  if (!dladdr(reinterpret_cast<const void*>(&at::globalContext), &where) || !where.dli_fname) return "";
  const std::string file = where.dli_fname;
  return file.substr(0, file.rfind('/') + 1);
}

void open_cuda_half() {
  const std::string file = folder_of_torch() + "libtorch_cuda.so";
  if (!dlopen(file.c_str(), RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE)) {
    const char* why = dlerror();
    throw fault(SY_E_UNAVAILABLE, std::string("LibTorch layers cannot run on GPUs: ") + (why ? why : file.c_str()) +
                                      "; `pip install torch==2.11.*` brings LibTorch with CUDA");
  }
  at::globalContext().lazyInitDevice(at::kCUDA);
}

}  // namespace

void need_cuda_half() {
  static std::once_flag once;
  std::call_once(once, open_cuda_half);
}

}  // namespace sy
