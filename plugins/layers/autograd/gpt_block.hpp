// A whole transformer block: x + attention(norm1(x)), then + feed_forward(norm2(.)).
#pragma once

#include "../transformer/gpt_block_options.hpp"
#include "feed_forward_part.hpp"
#include "self_attention.hpp"

namespace sy {

struct gpt_block_autograd : gpt_block_options {
  static constexpr const char* id = "gpt_block_autograd";
  explicit gpt_block_autograd(const config& c)
      : attention_(attention_settings(c), "norm1.", "attn."),
        feed_forward_(feed_forward_settings(c), "norm2.", "mlp.") {}

  std::vector<port> infer(uint32_t kind, ports in) {
    attention_.infer(kind, *in[0]);
    feed_forward_.infer(*in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    attention_.declare(all);
    feed_forward_.declare(all);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const {
    const sy_port& x = *in[0];
    const bool training = kind == SY_TRAIN;
    sy::cost c;
    attention_.add_flops(c, x);
    feed_forward_.add_flops(c, x);
    tally forward, backward;
    attention_.walk_forward(forward, x, training);
    feed_forward_.walk_forward(forward, x, training);
    if (!training) forward.drop(bytes_of(x));  // between the halves
    c.bytes_workspace = forward.workspace();
    if (!training) return c;
    c.keep_in = attention_.keeps_input(x.dtype) ? 1 : 0;
    c.bytes_saved = static_cast<uint64_t>(forward.live) - bytes_of(x);
    feed_forward_.walk_backward(backward, x);
    backward.drop(bytes_of(x));  // between the halves
    attention_.walk_backward(backward, x);
    c.bytes_workspace_backward = backward.workspace_besides(bytes_of(x));
    return c;
  }
  at::Tensor forward(pass& p) {
    const at::Tensor& x = p.in(0);
    const at::Tensor middle = attention_.forward(p, x.view({-1, x.size(2)}), x.size(0));
    return feed_forward_.forward(p, middle).view(x.sizes());
  }

 private:
  self_attention attention_;
  feed_forward_part feed_forward_;
};

}  // namespace sy
