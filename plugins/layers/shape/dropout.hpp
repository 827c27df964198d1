// Dropout as a layer of its own.
#pragma once

#include "blocks/cost.hpp"
#include "blocks/dropout.hpp"

namespace sy {

struct dropout_layer {
  static constexpr const char* id = "dropout";
  static constexpr const char* help =
      "sets elements to zero with probability p and scales the rest by 1 / (1 - p), in training; masks depend on seed, "
      "step, "
      "sample and layer name only";
  static constexpr sy_option options[] = {f64_option("p", "0.5", 0, 1, "probability of zero")};
  explicit dropout_layer(const config& c) : p_(c.f64("p")) {}

  std::vector<port> infer(uint32_t, ports in) const { return {like(*in[0])}; }
  sy::cost cost(uint32_t kind, const_ports in) const {
    sy::cost c;
    const double n = static_cast<double>(elements_of(*in[0]));
    if (kind != SY_TRAIN || p_ == 0) return c;
    add_elementwise_flops(c, 2 * n, 2 * n);
    c.bytes_saved = elements_of(*in[0]);
    return c;
  }
  at::Tensor forward(pass& p) const { return dropout(p, p.in(0), p_, ""); }

 private:
  double p_;
};

}  // namespace sy
