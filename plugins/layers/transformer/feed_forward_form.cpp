#include "feed_forward_form.hpp"

#include <cmath>

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

feed_forward_form::feed_forward_form(const feed_forward_settings& settings, const std::string& norm_prefix,
                                     const std::string& prefix)
    : set(settings),
      before(settings.kind, settings.eps, settings.bias, norm_prefix),
      up(prefix + "up."),
      gate(prefix + "gate."),
      down(prefix + "down."),
      residual(prefix + "residual") {}

void feed_forward_form::infer(const sy_port& x) {
  if (x.ndim < 2) throw fault(SY_E_CONFIG, "feed_forward needs an input of shape [rows, ..., width]");
  width = last_dim(x);
}

void feed_forward_form::declare(std::vector<param>& to) const {
  before.declare(to, width);
  const double residual_std = set.depth > 0 ? 0.02 / std::sqrt(2.0 * static_cast<double>(set.depth)) : 0.02;
  declare_linear(to, up, width, hidden(), set.bias, normal(0.02), "zeros");
  if (set.gated) declare_linear(to, gate, width, hidden(), set.bias, normal(0.02), "zeros");
  declare_linear(to, down, hidden(), width, set.bias, normal(residual_std), "zeros");
}

void feed_forward_form::add_flops(cost& c, const sy_port& x) const {
  const uint64_t rows = rows_of(x);
  before.add_flops(c, rows, width);
  add_linear_flops(c, rows, width, hidden(), set.bias);
  if (set.gated) add_linear_flops(c, rows, width, hidden(), set.bias);
  add_linear_flops(c, rows, hidden(), width, set.bias);
  const double wide = static_cast<double>(rows) * static_cast<double>(hidden());
  const double n = static_cast<double>(rows) * static_cast<double>(width);
  const double f = activation_flops(set.function) + (set.gated ? 1 : 0);
  add_elementwise_flops(c, f * wide + (set.residual ? n : 0), 2 * f * wide + (set.residual ? n : 0));
}

}  // namespace sy
