// An elementwise activation as a layer of its own.
#pragma once

#include "blocks/activation.hpp"
#include "blocks/cost.hpp"

namespace sy {

struct activation_layer {
  static constexpr const char* id = "activation";
  static constexpr const char* help = "elementwise activation; gelu is exact, gelu_tanh its approximation";
  static constexpr sy_option options[] = {str_option("kind", nullptr, activation_names, "which function")};
  explicit activation_layer(const config& c) : kind_(activation_of(c.str("kind"))) {}

  std::vector<port> infer(uint32_t, ports in) const { return {like(*in[0])}; }
  sy::cost cost(uint32_t kind, const_ports in) const {
    sy::cost c;
    const double n = static_cast<double>(elements_of(*in[0]));
    add_elementwise_flops(c, n * activation_flops(kind_), 2 * n * activation_flops(kind_));
    if (kind == SY_TRAIN) (keeps_input(kind_) ? c.keep_in : c.keep_out) = 1;
    return c;
  }
  at::Tensor forward(pass& p) const { return activate(kind_, p.in(0)); }

 private:
  activation kind_;
};

}  // namespace sy
