#include "blocks/activation.hpp"

#include <ATen/ops/gelu.h>
#include <ATen/ops/relu.h>
#include <ATen/ops/sigmoid.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>

namespace sy {

activation activation_of(const std::string& name) {
  for (uint8_t i = 0; activation_names[i]; ++i)
    if (name == activation_names[i]) return static_cast<activation>(i);
  throw fault(SY_E_CONFIG, "there is no activation '" + name + "'");
}

at::Tensor activate(activation kind, const at::Tensor& x) {
  switch (kind) {
    case activation::relu:
      return at::relu(x);
    case activation::gelu:
      return at::gelu(x, "none");
    case activation::gelu_tanh:
      return at::gelu(x, "tanh");
    case activation::silu:
      return at::silu(x);
    case activation::tanh:
      return at::tanh(x);
    case activation::sigmoid:
      return at::sigmoid(x);
  }
  throw fault(SY_E_INTERNAL, "an activation without an operator");
}

}  // namespace sy
