#include "attention_form.hpp"

#include <cmath>

#include "blocks/init.hpp"

namespace sy {

attention_settings::attention_settings(const config& c)
    : heads(c.i64("heads")),
      kv_heads(c.i64("kv_heads")),
      depth(c.i64("depth")),
      causal(c.flag("causal")),
      bias(c.flag("bias")),
      rotary(c.flag("rotary")),
      rotary_base(c.f64("rotary_base")),
      dropout(c.f64("dropout")),
      eps(c.f64("eps")),
      kind(norm_of(c.str("norm"))) {
  if (kv_heads == 0) kv_heads = heads;
  if (heads % kv_heads != 0)
    throw fault(SY_E_CONFIG,
                "heads = " + std::to_string(heads) + " is no multiple of kv_heads = " + std::to_string(kv_heads));
}

attention_form::attention_form(const attention_settings& settings, const std::string& norm_prefix,
                               const std::string& prefix)
    : set(settings),
      before(settings.kind, settings.eps, settings.bias, norm_prefix),
      qkv(prefix + "qkv."),
      out(prefix + "out."),
      probabilities(prefix + "probabilities"),
      residual(prefix + "residual") {}

void attention_form::infer(uint32_t kind, const sy_port& x) {
  if (kind == SY_PREFILL || kind == SY_DECODE)
    throw fault(SY_E_UNIMPLEMENTED, "this attention has no key-value cache yet; generation runs it without one");
  if (x.ndim != 3) throw fault(SY_E_CONFIG, "attention needs an input of shape [rows, time, width]");
  if (elements_of(x) == 0) throw fault(SY_E_CONFIG, "attention needs at least one row and one position");
  width = x.shape[2];
  if (width % set.heads != 0)
    throw fault(SY_E_CONFIG,
                "the width " + std::to_string(width) + " is no multiple of heads = " + std::to_string(set.heads));
  head = width / set.heads;
  if (set.rotary && head % 2 != 0)
    throw fault(SY_E_CONFIG, "rotary positions need an even head width, not " + std::to_string(head));
}

void attention_form::declare(std::vector<param>& to) const {
  before.declare(to, width);
  const double residual_std = set.depth > 0 ? 0.02 / std::sqrt(2.0 * static_cast<double>(set.depth)) : 0.02;
  declare_linear(to, qkv, width, packed_heads() * head, set.bias, normal(0.02), "zeros");
  declare_linear(to, out, width, width, set.bias, normal(residual_std), "zeros");
}

void attention_form::add_flops(cost& c, const sy_port& x) const {
  const uint64_t rows = rows_of(x);
  const double time = static_cast<double>(x.shape[1]);
  const double scores = static_cast<double>(rows) * time * static_cast<double>(set.heads);
  before.add_flops(c, rows, width);
  add_linear_flops(c, rows, width, packed_heads() * head, set.bias);
  // q k^T and the product with v; each has two products in its backward, which also makes the scores again
  const double share = set.causal ? 0.5 * (1.0 + 1.0 / time) : 1.0;
  const double product = 2.0 * scores * static_cast<double>(head) * share;
  const double softmax = 5.0 * scores * share;
  add_elementwise_flops(c, 2 * product + softmax, 5 * product + 2 * softmax);
  add_linear_flops(c, rows, width, width, set.bias);
  const double n = static_cast<double>(rows) * static_cast<double>(width);
  add_elementwise_flops(c, (set.residual ? n : 0) + (set.dropout > 0 ? 2 * n : 0), set.residual ? n : 0);
}

}  // namespace sy
