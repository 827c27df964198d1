#include "mlp.hpp"

#include <ATen/ops/empty_like.h>

#include "blocks/own_backward.hpp"
#include "blocks/product.hpp"
#include "kernels/bias_gradient.hpp"

namespace sy {

mlp_layer::saved mlp_layer::forward(const sy_call& call) {
  return in_call(call, false, [&]() -> saved {
    const kernels::lane on = kernels::lane_of(call);
    const at::Tensor input = borrow(call.in[0]);
    saved kept;
    at::Tensor x = as_rows(input);
    for (std::size_t i = 0; i < widths_.size(); ++i) {
      at::Tensor u = product(x, value(i, "weight"), value(i, "bias")), next = u;
      step made{std::move(x), {}, {}};
      if (!is_last(i)) {
        if (keeps(call) && keeps_input(kind_)) made.u = u, next = at::empty_like(u);
        kernels::activate(on, kernels::function_of(kind_), kernels::type_of(u), u.numel(), u.data_ptr(),
                          next.data_ptr());
      }
      x = std::move(next);
      if (keeps(call)) kept.steps.push_back(std::move(made));
    }
    if (keeps(call)) kept.input = input;
    call.out[0] = lend(x.view(with_width(input, widths_.back())), call);
    return kept;
  });
}

void mlp_layer::backward_input(const sy_call& call, saved& kept) {
  in_call(call, false, [&] {
    const at::Tensor dy = arriving(call, kept.input);
    if (!dy.defined()) return;
    at::Tensor gradient = as_rows(dy);
    for (std::size_t i = widths_.size(); i-- > 0;) {
      step& s = kept.steps[i];
      s.du = gradient;
      if (i == 0) break;
      gradient = product_backward(gradient, value(i, "weight"));
      step& before = kept.steps[i - 1];
      through_activation(call, gradient, before.u.defined() ? before.u : s.x, grad(i - 1, "bias"));
      before.u.reset();
    }
    if (wants(call)) call.out[0] = lend(product_backward(gradient, value(0, "weight")).view(kept.input.sizes()), call);
  });
}

/// In place; adds to the gradient of the bias on the way.
void mlp_layer::through_activation(const sy_call& call, const at::Tensor& gradient, const at::Tensor& kept,
                                   const at::Tensor& bias) const {
  const kernels::lane on = kernels::lane_of(call);
  const int64_t rows = gradient.size(0), columns = gradient.size(1);
  const sy_dtype type = kernels::type_of(gradient);
  const at::Tensor room =
      kernels::scratch(bias.defined() ? kernels::column_sum_scratch(on, type, rows, columns) : 0, gradient);
  kernels::activate_backward(on, kernels::function_of(kind_), type, rows, columns, gradient.data_ptr(), kept.data_ptr(),
                             gradient.data_ptr(), kernels::sum_into(bias), kernels::data_of(room));
}

void mlp_layer::backward_weight(const sy_call& call, saved&& kept) {
  in_call(call, false, [&] {
    for (std::size_t i = widths_.size(); i-- > 0;) {
      step& s = kept.steps[i];
      if (!s.du.defined()) return;
      add_product(grad(i, "weight"), s.du, s.x);
      if (is_last(i)) kernels::add_bias_gradient(call, grad(i, "bias"), s.du);
      s = {};
    }
  });
}

// ---- costs --------------------------------------------------------------------------------------------------------

sy::cost mlp_layer::cost(uint32_t kind, const_ports in) const {
  const sy_dtype type = in[0]->dtype;
  const uint64_t rows = rows_of(*in[0]);
  const row_bytes bytes{rows * width_of(type)};
  const bool training = kind == SY_TRAIN, keeps_product = training && keeps_input(kind_);
  sy::cost c;
  add_flops(c, rows);
  tally forward, backward;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    forward.take(bytes(widths_[i]));
    if (!training && i > 0) forward.drop(bytes(widths_[i - 1]));
    if (keeps_product && !is_last(i)) forward.take(bytes(widths_[i]));
  }
  c.bytes_workspace = forward.workspace();
  if (!training) return c;
  c.keep_in = 1;
  c.bytes_saved = static_cast<uint64_t>(forward.live) - bytes(widths_.back());
  for (std::size_t i = widths_.size() - 1; i > 0; --i) {
    backward.take(bytes(width_into(i)));
    if (bias_) backward.hold(kernels::bias_gradient_scratch(type, rows, width_into(i)));
    if (keeps_product) backward.drop(bytes(width_into(i)));
  }
  c.bytes_held = bytes_of(*in[0]) + bytes(widths_.back());
  for (std::size_t i = 1; i < widths_.size(); ++i) c.bytes_held += 2 * bytes(width_into(i));
  backward.take(bytes(in_));
  for (std::size_t i = widths_.size(); i-- > 0;) {
    backward.hold(add_product_scratch(widths_[i], width_into(i), type.bits));
    if (is_last(i) && bias_) backward.hold(kernels::bias_gradient_scratch(type, rows, widths_[i]));
    backward.drop(i > 0 ? bytes(width_into(i)) : 0);     // its input
    backward.drop(!is_last(i) ? bytes(widths_[i]) : 0);  // the gradient of its output
  }
  c.bytes_workspace_backward = backward.workspace_besides(bytes(in_));
  return c;
}

}  // namespace sy
