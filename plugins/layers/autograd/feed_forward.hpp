// The feed-forward network as a layer of its own.
#pragma once

#include "feed_forward_part.hpp"

namespace sy {

struct feed_forward_autograd : feed_forward_options {
  static constexpr const char* id = "feed_forward_autograd";
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
