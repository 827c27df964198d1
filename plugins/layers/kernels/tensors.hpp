// LibTorch tensors as kernels take them.
#pragma once

#include <ATen/ops/empty.h>

#include "blocks/activation.hpp"
#include "lane_of.hpp"
#include "pointwise.hpp"

namespace sy::kernels {

inline sy_dtype type_of(const at::Tensor& t) { return from_torch(t.scalar_type()); }
/// NULL of an undefined tensor.
inline void* data_of(const at::Tensor& t) { return t.defined() ? t.data_ptr() : nullptr; }
/// An undefined gradient is not wanted.
inline sum sum_into(const at::Tensor& gradient) {
  return gradient.defined() ? sum{gradient.data_ptr(), type_of(gradient)} : sum{};
}
/// Undefined where no bytes are needed.
inline at::Tensor scratch(uint64_t bytes, const at::Tensor& like) {
  return bytes > 0 ? at::empty({static_cast<int64_t>(bytes)}, like.options().dtype(at::kByte)) : at::Tensor();
}
constexpr function function_of(activation kind) {
  switch (kind) {
    case activation::relu:
      return function::relu;
    case activation::gelu:
      return function::gelu;
    case activation::gelu_tanh:
      return function::gelu_tanh;
    case activation::silu:
      return function::silu;
    case activation::tanh:
      return function::tanh;
    case activation::sigmoid:
      return function::sigmoid;
  }
  return function::relu;
}

}  // namespace sy::kernels
