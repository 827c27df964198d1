// Self-attention as a layer of its own.
#pragma once

#include "self_attention.hpp"

namespace sy {

struct attention_autograd {
  static constexpr const char* id = "attention by LibTorch's autograd: attention_autograd";
  static constexpr const char* help =
      "multi-head self-attention with its norm and residual: x + attention(norm(x)); input [rows, time, width]";
  static constexpr sy_option options[] = {
      i64_option("heads", nullptr, 1, 65536, "attention heads; must divide the width"),
      i64_option("kv_heads", "0", 0, 65536, "key and value heads, each shared by heads / kv_heads; 0: as heads"),
      bool_option("causal", "true", "a position sees itself and earlier ones only"),
      str_option("norm", "\"layer\"", norm_names,
                 "before the products; batch normalises each channel over rows and time"),
      bool_option("residual", "true", "add the input to the result"),
      bool_option("rotary", "false", "rotary positions (half-split, as Llama)"),
      f64_option("rotary_base", "10000.0", 1, 1e12, "slowest wave length of rotary positions, over 2 pi"),
      bool_option("bias", "true", "biases in products and LayerNorm"),
      f64_option("dropout", "0.0", 0, 1, "probability, on attention probabilities and the result"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance in the norm"),
      i64_option("depth", "0", 0, 1e6,
                 "blocks of the model: starts the last product at 0.02 / sqrt(2 depth); 0: at 0.02"),
  };
  explicit attention_autograd(const config& c) : part_(settings(c), "norm.", "") {}

  std::vector<port> infer(uint32_t kind, ports in) {
    part_.infer(kind, *in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    part_.declare(all);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const { return cost_of_part(part_, kind, *in[0]); }
  at::Tensor forward(pass& p) {
    const at::Tensor& x = p.in(0);
    return part_.forward(p, x.view({-1, x.size(2)}), x.size(0)).view(x.sizes());
  }
  void finish(pass& p) const { part_.finish(p); }

 private:
  static attention_settings settings(const config& c) {
    attention_settings s(c);
    s.residual = c.flag("residual");
    return s;
  }
  self_attention part_;
};

}  // namespace sy
