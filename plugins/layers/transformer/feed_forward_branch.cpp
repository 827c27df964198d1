#include "feed_forward_branch.hpp"

#include <ATen/ops/empty_like.h>

#include "blocks/product.hpp"
#include "kernels/bias_gradient.hpp"

namespace sy {

at::Tensor feed_forward_branch::linear(const bound_params& params, const std::string& name, const at::Tensor& x,
                                       const at::Tensor& add) const {
  return product(x, params.find(name, "weight"), params.find(name, "bias"), add);
}

// ---- forward ------------------------------------------------------------------------------------------------------

at::Tensor feed_forward_branch::forward(const sy_call& call, const bound_params& params, at::Tensor& x, at::Tensor add,
                                        feed_forward_saved* keep) const {
  const kernels::lane on = kernels::lane_of(call);
  const kernels::function f = kernels::function_of(form.set.function);
  at::Tensor sum;
  normed n = norm_.forward(call, params, x, add, &sum);
  if (sum.defined()) x = std::move(sum), add.reset();
  const sy_dtype type = kernels::type_of(x);
  at::Tensor up = linear(params, form.up, n.h), gate = form.set.gated ? linear(params, form.gate, n.h) : at::Tensor();
  if (!keep) n = {};
  const bool in_place = !keep || !keeps_up();
  at::Tensor a = in_place ? up : at::empty_like(up);
  if (form.set.gated)
    kernels::swiglu(on, type, up.numel(), gate.const_data_ptr(), up.const_data_ptr(), a.data_ptr());
  else
    kernels::activate(on, f, type, up.numel(), up.const_data_ptr(), a.data_ptr());
  if (in_place) up.reset();
  if (!keep) gate.reset();
  const bool complete = form.set.residual && !drops(call.kind == SY_TRAIN) && adds_inside(x);
  at::Tensor y = linear(params, form.down, a, complete ? x : at::Tensor());
  if (!keep) a.reset();
  if (!complete) y = add_branch(call, x, std::move(y), form.set.residual, form.set.dropout, form.residual.c_str());
  if (keep)
    *keep = {.x = norm_.keeps_input() ? x : at::Tensor(),
             .n = std::move(n),
             .up = std::move(up),
             .gate = std::move(gate),
             .a = std::move(a)};
  return y;
}

// ---- backward -----------------------------------------------------------------------------------------------------

/// From the gradient of a, in its place, to that of up (and gate); adds those of their biases.
at::Tensor feed_forward_branch::activation_backward(const sy_call& call, const bound_params& params, at::Tensor da,
                                                    feed_forward_saved& s) const {
  const kernels::lane on = kernels::lane_of(call);
  const sy_dtype type = kernels::type_of(da);
  if (form.set.gated) {
    kernels::swiglu_backward(on, type, da.numel(), da.const_data_ptr(), s.gate.const_data_ptr(), s.up.const_data_ptr(),
                             s.gate.data_ptr(), da.data_ptr());
    s.d_gate = std::move(s.gate);
    s.up.reset();
    kernels::add_bias_gradient(call, params.grad(form.gate, "bias"), s.d_gate);
    kernels::add_bias_gradient(call, params.grad(form.up, "bias"), da);
    return da;
  }
  const kernels::function f = kernels::function_of(form.set.function);
  const at::Tensor bias = params.grad(form.up, "bias");
  const at::Tensor scratch =
      kernels::scratch(bias.defined() ? kernels::column_sum_scratch(on, type, da.size(0), da.size(1)) : 0, da);
  kernels::activate_backward(on, f, type, da.size(0), da.size(1), da.const_data_ptr(),
                             (kernels::reads_output(f) ? s.a : s.up).const_data_ptr(), da.data_ptr(),
                             kernels::sum_into(bias), kernels::data_of(scratch));
  s.up.reset();
  return da;
}

at::Tensor feed_forward_branch::backward_input(const sy_call& call, const bound_params& params, const at::Tensor& dy,
                                               feed_forward_saved& s, const at::Tensor& columns) const {
  s.d_down = dropped_gradient(call, dy, form.set.dropout, form.residual.c_str());
  kernels::add_bias_gradient(call, params.grad(form.down, "bias"), s.d_down);
  s.d_up = activation_backward(call, params, product_backward(s.d_down, params.find(form.down, "weight")), s);
  at::Tensor dh = product_backward(s.d_up, params.find(form.up, "weight"));
  if (form.set.gated) add_product_backward(dh, s.d_gate, params.find(form.gate, "weight"));
  dh = norm_.backward(call, params, std::move(dh), s.x, s.n, form.set.residual ? dy : at::Tensor(), columns);
  s.x.reset();
  return dh;
}

void feed_forward_branch::backward_weight(const bound_params& params, feed_forward_saved&& s) const {
  add_product(params.grad(form.down, "weight"), s.d_down, s.a);
  s.a.reset(), s.d_down.reset();
  add_product(params.grad(form.up, "weight"), s.d_up, s.n.h);
  if (form.set.gated) add_product(params.grad(form.gate, "weight"), s.d_gate, s.n.h);
}

// ---- costs --------------------------------------------------------------------------------------------------------

bool feed_forward_branch::keeps_up() const {
  return form.set.gated || !kernels::reads_output(kernels::function_of(form.set.function));
}

void feed_forward_branch::walk_forward(tally& bytes, const sy_port& x, bool training, bool makes_x) const {
  const uint64_t stream = bytes_of(x), rows = rows_of(x), wide = form.wide_bytes(x);
  const uint64_t h = norm_.saves(rows, form.width, x.dtype), gate = form.set.gated ? wide : 0;
  if (makes_x) bytes.take(stream);
  norm_.walk_forward(bytes, rows, form.width, x.dtype);
  if (makes_x) bytes.drop(stream);
  bytes.take(wide + gate);
  if (!training) bytes.drop(h);
  if (training && keeps_up()) bytes.take(wide);
  if (!training) bytes.drop(gate);
  bytes.take(stream);
  if (!training) bytes.drop(wide);
}

void feed_forward_branch::walk_backward_input(tally& bytes, const sy_port& x, bool owns_x) const {
  const uint64_t stream = bytes_of(x), rows = rows_of(x), wide = form.wide_bytes(x);
  if (drops(true)) bytes.take(stream);
  if (form.set.bias) bytes.hold(kernels::bias_gradient_scratch(x.dtype, rows, form.width));
  bytes.take(wide);
  if (form.set.bias) bytes.hold(kernels::bias_gradient_scratch(x.dtype, rows, form.hidden()));
  if (keeps_up()) bytes.drop(wide);
  bytes.take(stream);
  norm_.walk_backward(bytes, rows, form.width, x.dtype);
  if (owns_x && keeps_input()) bytes.drop(stream);
}

void feed_forward_branch::walk_backward_weight(tally& bytes, const sy_port& x) const {
  const uint64_t scratch = std::max(add_product_scratch(form.width, form.hidden(), x.dtype.bits),
                                    add_product_scratch(form.hidden(), form.width, x.dtype.bits));
  bytes.hold(scratch);
}

uint64_t feed_forward_branch::held_bytes(const sy_port& x) const {
  const uint64_t stream = bytes_of(x), wide = form.wide_bytes(x);
  return 2 * stream + (form.set.gated ? 3 : 2) * wide;  // h, d, a, d_up, d_gate
}

}  // namespace sy
