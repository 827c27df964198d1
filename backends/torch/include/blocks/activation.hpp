// Elementwise activations.
#pragma once

#include <string>

#include "switchyard/cpp/torch.hpp"

namespace sy {

enum class activation : uint8_t { relu, gelu, gelu_tanh, silu, tanh, sigmoid };

inline constexpr const char* activation_names[] = {"relu", "gelu", "gelu_tanh", "silu", "tanh", "sigmoid", nullptr};

/// The activation of one of activation_names; the option's choices were checked by the core.
SY_EXPORT activation activation_of(const std::string& name);
/// relu max(x, 0); gelu x Phi(x), exact; gelu_tanh its tanh approximation; silu x sigmoid(x). A new tensor.
SY_EXPORT at::Tensor activate(activation kind, const at::Tensor& x);
/// Its backward needs the input (else the output).
constexpr bool keeps_input(activation kind) {
  return kind == activation::gelu || kind == activation::gelu_tanh || kind == activation::silu;
}
/// Operations per element, forward; backward is counted twice that.
constexpr double activation_flops(activation kind) {
  switch (kind) {
    case activation::relu:
      return 1;
    case activation::gelu:
      return 8;
    case activation::gelu_tanh:
      return 10;
    case activation::silu:
      return 5;
    case activation::tanh:
      return 5;
    case activation::sigmoid:
      return 4;
  }
  return 0;
}

}  // namespace sy
