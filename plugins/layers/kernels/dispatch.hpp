// From a kernel to its twins.
#pragma once

#include <string>

#include "cpu/twins.hpp"
#include "switchyard/cpp/plugin.hpp"
#ifdef SWITCHYARD_WITH_CUDA
#include "cuda/twins.hpp"
#endif

namespace sy::kernels {

inline void expect_float(const char* kernel, sy_dtype type) {
  if (same(type, f64) || same(type, f32) || same(type, bf16) || same(type, f16)) return;
  throw fault(SY_E_ARGUMENT, std::string(kernel) + ": tensors are fp64, fp32, bf16 or fp16");
}
inline void expect_whole(const char* kernel, sy_dtype type) {
  if (type.code == SY_INT || type.code == SY_UINT) return;
  throw fault(SY_E_ARGUMENT, std::string(kernel) + ": ids are whole numbers");
}
inline void expect_sum(const char* kernel, sum to) {
  if (!to || same(to.type, f32) || same(to.type, bf16) || same(to.type, f64)) return;
  throw fault(SY_E_ARGUMENT, std::string(kernel) + ": gradients are fp32, bf16 or fp64");
}

/// `text`: what a CUDA twin returned.
inline void expect_started(const char* kernel, const char* text) {
  if (text) throw fault(SY_E_DEVICE, std::string(kernel) + ": " + text);
}

/// Calls the lane's twin of `kernel` with the arguments.
#ifdef SWITCHYARD_WITH_CUDA
#define SY_ON_LANE(on, kernel, ...) \
  ((on).cuda ? expect_started(#kernel, cuda::kernel((on).stream, __VA_ARGS__)) : on_cpu()->kernel((on), __VA_ARGS__))
#else
#define SY_ON_LANE(on, kernel, ...)                                                                           \
  ((on).cuda ? throw fault(SY_E_UNIMPLEMENTED, std::string(#kernel) + ": this build has no kernels for CUDA") \
             : on_cpu()->kernel((on), __VA_ARGS__))
#endif

}  // namespace sy::kernels
