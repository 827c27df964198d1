#include "gpt_block.hpp"

#include "blocks/own_backward.hpp"

namespace sy {

gpt_block_layer::saved gpt_block_layer::forward(const sy_call& call) const {
  return in_call(call, false, [&] {
    const at::Tensor in = borrow(call.in[0]);
    at::Tensor x = as_rows(in);
    saved s{in.sizes().vec(), {}, {}};
    const bool kept = keeps(call);
    auto [added, complete] = attention_.forward(call, params_, x, kept ? &s.attention : nullptr);
    if (!complete && !attention_.adds_plainly(call))
      added = attention_.add_residual(call, x, std::move(added)), complete = true;
    if (complete) x = std::move(added), added.reset();
    const at::Tensor y = feed_forward_.forward(call, params_, x, std::move(added), kept ? &s.feed_forward : nullptr);
    call.out[0] = lend(y.view(in.sizes()), call);
    return s;
  });
}

void gpt_block_layer::backward_input(const sy_call& call, saved& s) const {
  in_call(call, false, [&] {
    const at::Tensor dy = arriving(call, s.shape, s.attention.n.h.options());
    if (!dy.defined()) return;
    const at::Tensor bias = attention_.out_bias_gradient(params_);
    const bool plain = attention_.adds_plainly(call);
    const at::Tensor middle =
        feed_forward_.backward_input(call, params_, as_rows(dy), s.feed_forward, plain ? bias : at::Tensor());
    at::Tensor d = attention_.through_dropout(call, middle);
    if (!plain) kernels::add_bias_gradient(call, bias, d);
    const at::Tensor dx = attention_.backward_input(call, params_, middle, std::move(d), s.attention);
    if (wants(call)) call.out[0] = lend(dx.view(s.shape), call);
  });
}

void gpt_block_layer::backward_weight(const sy_call& call, saved&& s) const {
  if (!s.feed_forward.d_down.defined()) return;  // nothing arrived
  in_call(call, false, [&] {
    feed_forward_.backward_weight(params_, std::move(s.feed_forward));
    attention_.backward_weight(params_, std::move(s.attention));
  });
}

sy::cost gpt_block_layer::cost(uint32_t kind, const_ports in) const {
  const sy_port& x = *in[0];
  const bool training = kind == SY_TRAIN, plain = !(training && attention_.form.set.dropout > 0);
  sy::cost c;
  attention_.form.add_flops(c, x);
  feed_forward_.form.add_flops(c, x);
  tally forward, backward;
  attention_.walk_forward(forward, x, training);
  feed_forward_.walk_forward(forward, x, training, plain);
  if (!training) forward.drop(bytes_of(x));  // between the branches
  c.bytes_workspace = forward.workspace();
  if (!training) return c;
  c.keep_in = attention_.keeps_input() ? 1 : 0;
  c.bytes_saved = static_cast<uint64_t>(forward.live) - bytes_of(x);
  feed_forward_.walk_backward_input(backward, x, true);
  attention_.walk_backward_input(backward, x);
  feed_forward_.walk_backward_weight(backward, x);
  attention_.walk_backward_weight(backward, x);
  c.bytes_workspace_backward = backward.workspace_besides(bytes_of(x));
  c.bytes_held = feed_forward_.held_bytes(x) + attention_.held_bytes(x);
  return c;
}

}  // namespace sy
