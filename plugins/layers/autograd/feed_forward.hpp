// The feed-forward network as a layer of its own.
#pragma once

#include "feed_forward_part.hpp"

namespace sy {

struct feed_forward_autograd {
  static constexpr const char* id = "feed_forward by LibTorch's autograd: feed_forward_autograd";
  static constexpr const char* help =
      "two products with an activation between, with norm and residual: x + down(activation(up(norm(x))))";
  static constexpr sy_option options[] = {
      i64_option("width", "0", 0, 1e9, "inner width; 0: four times the input's"),
      str_option("activation", "\"gelu_tanh\"", feed_forward_activations, "gelu is exact; swiglu adds a gate"),
      str_option("norm", "\"layer\"", norm_names,
                 "before the products; batch normalises each channel over everything else"),
      bool_option("residual", "true", "add the input to the result"),
      bool_option("bias", "true", "biases in products and LayerNorm"),
      f64_option("dropout", "0.0", 0, 1, "probability, on the result"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance in the norm"),
      i64_option("depth", "0", 0, 1e6,
                 "blocks of the model: starts the last product at 0.02 / sqrt(2 depth); 0: at 0.02"),
  };
  explicit feed_forward_autograd(const config& c) : part_(settings(c), "norm.", "") {}

  std::vector<port> infer(uint32_t, ports in) {
    part_.infer(*in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    part_.declare(all);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const { return cost_of_part(part_, kind, *in[0]); }
  at::Tensor forward(pass& p) const {
    const at::Tensor& x = p.in(0);
    return part_.forward(p, x.view({-1, x.size(-1)})).view(x.sizes());
  }
  void finish(pass& p) const { part_.finish(p); }

 private:
  static feed_forward_settings settings(const config& c) {
    feed_forward_settings s(c);
    s.residual = c.flag("residual");
    return s;
  }
  feed_forward_part part_;
};

}  // namespace sy
