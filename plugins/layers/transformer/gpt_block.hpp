// A whole transformer block: x + attention(norm1(x)), then + feed_forward(norm2(.)). The first addition is made
// together with the second norm, and the gradient of the attention's last bias with that norm's backward.
#pragma once

#include "attention_branch.hpp"
#include "feed_forward_branch.hpp"
#include "gpt_block_options.hpp"

namespace sy {

class gpt_block_layer : public gpt_block_options {
 public:
  static constexpr const char* id = "gpt_block";
  struct saved {
    std::vector<int64_t> shape;  // of the input
    attention_saved attention;
    feed_forward_saved feed_forward;
  };
  explicit gpt_block_layer(const config& c)
      : attention_(attention_settings(c), "norm1.", "attn."),
        feed_forward_(feed_forward_settings(c), "norm2.", "mlp.") {}

  std::vector<port> infer(uint32_t kind, ports in) {
    attention_.form.infer(kind, *in[0]);
    feed_forward_.form.infer(*in[0]);
    return {like(*in[0])};
  }
  std::vector<param> params() const {
    std::vector<param> all;
    attention_.form.declare(all);
    feed_forward_.form.declare(all);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const;
  void bind(const sy_binding& b) { params_.bind(params(), b); }
  saved forward(const sy_call& call) const;
  void backward_input(const sy_call& call, saved& s) const;
  void backward_weight(const sy_call& call, saved&& s) const;

 private:
  attention_branch attention_;
  feed_forward_branch feed_forward_;
  bound_params params_;
};

}  // namespace sy
