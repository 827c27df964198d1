#include "linear.hpp"

#include "blocks/own_backward.hpp"
#include "blocks/product.hpp"
#include "kernels/bias_gradient.hpp"

namespace sy {

sy::cost linear_layer::cost(uint32_t kind, const_ports from) const {
  const sy_port& x = *from[0];
  const uint64_t rows = rows_of(x);
  sy::cost c;
  add_linear_flops(c, rows, in, out, bias);
  if (kind != SY_TRAIN) return c;
  c.keep_in = 1;
  c.bytes_held = bytes_of(x) + rows * static_cast<uint64_t>(out) * width_of(x.dtype);
  tally bytes;
  bytes.take(bytes_of(x));
  bytes.hold(add_product_scratch(out, in, x.dtype.bits));
  if (bias) bytes.hold(kernels::bias_gradient_scratch(x.dtype, rows, out));
  c.bytes_workspace_backward = bytes.workspace_besides(bytes_of(x));
  return c;
}

linear_layer::saved linear_layer::forward(const sy_call& call) {
  return in_call(call, false, [&]() -> saved {
    const at::Tensor x = borrow(call.in[0]);
    const at::Tensor y = product(as_rows(x), params_.find("", "weight"), params_.find("", "bias"));
    call.out[0] = lend(y.view(with_width(x, out)), call);
    return {keeps(call) ? x : at::Tensor(), {}};
  });
}

void linear_layer::backward_input(const sy_call& call, saved& kept) {
  in_call(call, false, [&] {
    kept.dy = arriving(call, kept.x);
    if (kept.dy.defined() && wants(call))
      call.out[0] = lend(product_backward(as_rows(kept.dy), params_.find("", "weight")).view(kept.x.sizes()), call);
  });
}

void linear_layer::backward_weight(const sy_call& call, saved&& kept) {
  if (!kept.dy.defined()) return;
  in_call(call, false, [&] {
    const at::Tensor dy = as_rows(kept.dy);
    add_product(params_.grad("", "weight"), dy, as_rows(kept.x));
    kernels::add_bias_gradient(call, params_.grad("", "bias"), dy);
  });
}

}  // namespace sy
