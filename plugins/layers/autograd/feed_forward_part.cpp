#include "feed_forward_part.hpp"

#include <ATen/ops/linear.h>

#include <cmath>

#include "blocks/dropout.hpp"
#include "blocks/init.hpp"

namespace sy {

feed_forward_settings::feed_forward_settings(const config& c)
    : width(c.i64("width")),
      depth(c.i64("depth")),
      bias(c.flag("bias")),
      gated(c.str("activation") == "swiglu"),
      dropout(c.f64("dropout")),
      eps(c.f64("eps")),
      kind(norm_of(c.str("norm"))),
      function(gated ? activation::silu : activation_of(c.str("activation"))) {}

feed_forward_part::feed_forward_part(const feed_forward_settings& settings, const std::string& norm_prefix,
                                     const std::string& prefix)
    : set_(settings),
      norm_(settings.kind, settings.eps, settings.bias, norm_prefix),
      up_(prefix + "up."),
      gate_(prefix + "gate."),
      down_(prefix + "down."),
      residual_(prefix + "residual") {}

void feed_forward_part::infer(const sy_port& x) {
  if (x.ndim < 2) throw fault(SY_E_CONFIG, "feed_forward needs an input of shape [rows, ..., width]");
  width_ = last_dim(x);
}

void feed_forward_part::declare(std::vector<param>& to) const {
  norm_.declare(to, width_);
  const double residual_std = set_.depth > 0 ? 0.02 / std::sqrt(2.0 * static_cast<double>(set_.depth)) : 0.02;
  declare_linear(to, up_, width_, hidden(), set_.bias, normal(0.02), "zeros");
  if (set_.gated) declare_linear(to, gate_, width_, hidden(), set_.bias, normal(0.02), "zeros");
  declare_linear(to, down_, hidden(), width_, set_.bias, normal(residual_std), "zeros");
}

at::Tensor feed_forward_part::forward(pass& p, const at::Tensor& x) const {
  at::Tensor h = norm_.apply(p, x);
  at::Tensor a = at::linear(h, p(set_.gated ? gate_ : up_, "weight"), p(set_.gated ? gate_ : up_, "bias"));
  a = activate(set_.function, a);
  if (set_.gated) a = a.mul(at::linear(h, p(up_, "weight"), p(up_, "bias")));
  h.reset();
  at::Tensor y = at::linear(a, p(down_, "weight"), p(down_, "bias"));
  a.reset();
  y = dropout(p, y, set_.dropout, residual_.c_str());
  return set_.residual ? y.add_(x) : y;
}

// ---- costs --------------------------------------------------------------------------------------------------------

void feed_forward_part::add_flops(cost& c, const sy_port& x) const {
  const uint64_t rows = rows_of(x);
  norm_.add_flops(c, rows, width_);
  add_linear_flops(c, rows, width_, hidden(), set_.bias);
  if (set_.gated) add_linear_flops(c, rows, width_, hidden(), set_.bias);
  add_linear_flops(c, rows, hidden(), width_, set_.bias);
  const double wide = static_cast<double>(rows) * static_cast<double>(hidden());
  const double n = static_cast<double>(rows) * static_cast<double>(width_);
  const double f = activation_flops(set_.function) + (set_.gated ? 1 : 0);
  add_elementwise_flops(c, f * wide + (set_.residual ? n : 0), 2 * f * wide + (set_.residual ? n : 0));
}

void feed_forward_part::walk_forward(tally& bytes, const sy_port& x, bool training) const {
  const uint64_t rows = rows_of(x), elem = width_of(x.dtype), stream = bytes_of(x);
  const uint64_t wide = rows * static_cast<uint64_t>(hidden()) * elem;
  const uint64_t statistics = norm_.saved_bytes(rows, width_, x.dtype);
  if (!norm_.is_none()) {
    bytes.take(norm_.forward_scratch(rows, width_, x.dtype) + stream);
    bytes.drop(norm_.forward_scratch(rows, width_, x.dtype));
    bytes.take(statistics);
  }
  const bool keeps_product = training && sy::keeps_input(set_.function);
  bytes.take(2 * wide);
  if (!keeps_product) bytes.drop(wide);
  if (set_.gated) {
    bytes.take(2 * wide);
    if (!training) bytes.drop(2 * wide);
  }
  if (!training && !norm_.is_none()) bytes.drop(stream + statistics);
  bytes.take(stream);
  if (!training) bytes.drop(wide);
  if (drops(training)) {
    bytes.take(stream + stream / elem);
    bytes.drop(stream);
  }
}

void feed_forward_part::walk_backward(tally& bytes, const sy_port& x) const {
  const uint64_t rows = rows_of(x), elem = width_of(x.dtype), stream = bytes_of(x);
  const uint64_t wide = rows * static_cast<uint64_t>(hidden()) * elem;
  const uint64_t weights = gradient_bytes(static_cast<uint64_t>(width_ * hidden()), elem);
  const uint64_t up_bias = set_.bias ? static_cast<uint64_t>(hidden()) * elem : 0;
  const uint64_t down_bias = set_.bias ? static_cast<uint64_t>(width_) * elem : 0;
  if (drops(true)) bytes.take(stream);
  bytes.take(wide + weights + down_bias);
  if (drops(true)) bytes.drop(stream + stream / elem);
  bytes.drop(weights + down_bias);
  const uint64_t kept = (sy::keeps_input(set_.function) ? 2 : 1) * wide;
  if (set_.gated) {
    bytes.drop(wide);      // the product that down kept
    bytes.take(2 * wide);  // to the gate's activation and to up
    bytes.drop(wide);
    bytes.drop(wide);  // up's result
    bytes.take(stream + weights + up_bias);
    bytes.drop(wide + weights + up_bias);
  } else {
    bytes.drop(sy::keeps_input(set_.function) ? wide : 0);
  }
  bytes.take(wide);
  bytes.drop(wide + (set_.gated ? kept : wide));
  bytes.take(stream + weights + up_bias);
  bytes.drop(wide + weights + up_bias + (set_.gated ? stream : 0));
  if (norm_.is_none()) return;
  bytes.drop(stream);
  bytes.take(stream + norm_.backward_scratch(rows, width_, x.dtype));
  bytes.drop(stream + norm_.saved_bytes(rows, width_, x.dtype) + norm_.backward_scratch(rows, width_, x.dtype));
}

}  // namespace sy
