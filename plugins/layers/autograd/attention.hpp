// Self-attention as a layer of its own.
#pragma once

#include "self_attention.hpp"

namespace sy {

struct attention_autograd : attention_options {
  static constexpr const char* id = "attention_autograd";
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
