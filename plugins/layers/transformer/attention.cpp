#include "attention.hpp"

#include "blocks/own_backward.hpp"

namespace sy {

attention_layer::saved attention_layer::forward(const sy_call& call) const {
  return in_call(call, false, [&] {
    const at::Tensor in = borrow(call.in[0]), x = as_rows(in);
    saved s{in.sizes().vec(), {}};
    auto [y, complete] = branch_.forward(call, params_, x, keeps(call) ? &s.branch : nullptr);
    if (!complete) y = branch_.add_residual(call, x, std::move(y));
    call.out[0] = lend(y.view(in.sizes()), call);
    return s;
  });
}

void attention_layer::backward_input(const sy_call& call, saved& s) const {
  in_call(call, false, [&] {
    const at::Tensor arrived = arriving(call, s.shape, s.branch.n.h.options());
    if (!arrived.defined()) return;
    const at::Tensor dy = as_rows(arrived);
    at::Tensor d = branch_.through_dropout(call, dy);
    kernels::add_bias_gradient(call, branch_.out_bias_gradient(params_), d);
    const at::Tensor dx = branch_.backward_input(call, params_, dy, std::move(d), s.branch);
    if (wants(call)) call.out[0] = lend(dx.view(s.shape), call);
  });
}

void attention_layer::backward_weight(const sy_call& call, saved&& s) const {
  if (!s.branch.d_out.defined()) return;  // nothing arrived
  in_call(call, false, [&] { branch_.backward_weight(params_, std::move(s.branch)); });
}

sy::cost attention_layer::cost(uint32_t kind, const_ports in) const {
  const sy_port& x = *in[0];
  sy::cost c;
  branch_.form.add_flops(c, x);
  tally forward, backward;
  branch_.walk_forward(forward, x, kind == SY_TRAIN);
  c.bytes_workspace = forward.workspace();
  if (kind != SY_TRAIN) return c;
  c.keep_in = branch_.keeps_input() ? 1 : 0;
  c.bytes_saved = static_cast<uint64_t>(forward.live) - bytes_of(x);
  branch_.walk_backward_input(backward, x);
  branch_.walk_backward_weight(backward, x);
  c.bytes_workspace_backward = backward.workspace_besides(bytes_of(x));
  c.bytes_held = branch_.held_bytes(x);
  return c;
}

}  // namespace sy
