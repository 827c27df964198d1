#include "self_attention.hpp"

#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <limits>

#include "blocks/dropout.hpp"
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

self_attention::self_attention(const attention_settings& settings, const std::string& norm_prefix,
                               const std::string& prefix)
    : set_(settings),
      norm_(settings.kind, settings.eps, settings.bias, norm_prefix),
      prefix_(prefix),
      qkv_(prefix + "qkv."),
      out_(prefix + "out."),
      probabilities_(prefix + "probabilities"),
      residual_(prefix + "residual") {}

void self_attention::infer(uint32_t kind, const sy_port& x) {
  if (kind == SY_PREFILL || kind == SY_DECODE)
    throw fault(SY_E_UNIMPLEMENTED, "this attention has no key-value cache yet; generation runs it without one");
  if (x.ndim != 3) throw fault(SY_E_CONFIG, "attention needs an input of shape [rows, time, width]");
  if (elements_of(x) == 0) throw fault(SY_E_CONFIG, "attention needs at least one row and one position");
  width_ = x.shape[2];
  if (width_ % set_.heads != 0)
    throw fault(SY_E_CONFIG,
                "the width " + std::to_string(width_) + " is no multiple of heads = " + std::to_string(set_.heads));
  head_ = width_ / set_.heads;
  if (set_.rotary && head_ % 2 != 0)
    throw fault(SY_E_CONFIG, "rotary positions need an even head width, not " + std::to_string(head_));
}

void self_attention::declare(std::vector<param>& to) const {
  norm_.declare(to, width_);
  const double residual_std = set_.depth > 0 ? 0.02 / std::sqrt(2.0 * static_cast<double>(set_.depth)) : 0.02;
  declare_linear(to, qkv_, width_, (set_.heads + 2 * set_.kv_heads) * head_, set_.bias, normal(0.02), "zeros");
  declare_linear(to, out_, width_, width_, set_.bias, normal(residual_std), "zeros");
}

at::Tensor self_attention::forward(pass& p, const at::Tensor& x, int64_t rows) const {
  at::Tensor h = norm_.apply(p, x);
  at::Tensor qkv = at::linear(h, p(qkv_, "weight"), p(qkv_, "bias"));
  h.reset();
  at::Tensor o = attend(p, std::move(qkv), rows);
  at::Tensor y = at::linear(o, p(out_, "weight"), p(out_, "bias"));
  o.reset();
  y = dropout(p, y, set_.dropout, residual_.c_str());
  return set_.residual ? y.add_(x) : y;
}

at::Tensor self_attention::attend(pass& p, at::Tensor qkv, int64_t rows) const {
  const int64_t time = qkv.size(0) / rows, groups = set_.heads / set_.kv_heads;
  auto parts = qkv.view({rows, time, -1, head_}).split_with_sizes({set_.heads, set_.kv_heads, set_.kv_heads}, 2);
  qkv.reset();
  if (set_.rotary) {
    const rotary_table table = make_rotary_table(time, head_, set_.rotary_base, parts[0].options());
    parts[0] = turn(parts[0], table);
    parts[1] = turn(parts[1], table);
  }
  for (std::size_t i = 1; i < 3; ++i) {
    if (groups > 1)  // each key and value head serves `groups` query heads in a row
      parts[i] = parts[i]
                     .unsqueeze(3)
                     .expand({rows, time, set_.kv_heads, groups, head_})
                     .reshape({rows, time, set_.heads, head_});
    else if (i == 2 && set_.rotary)
      parts[i] = parts[i].clone();  // or it would keep all of qkv alive
  }
  at::Tensor q = parts[0].transpose(1, 2), k = parts[1].transpose(1, 2), v = parts[2].transpose(1, 2);
  parts.clear();
  const at::Tensor o = drops(p.training()) ? attend_with_dropout(p, q, k, v)
                                           : at::scaled_dot_product_attention(q, k, v, {}, 0.0, set_.causal);
  return o.transpose(1, 2).reshape({rows * time, width_});
}

/// LibTorch's own dropout would draw from its own generator.
at::Tensor self_attention::attend_with_dropout(pass& p, const at::Tensor& q, const at::Tensor& k,
                                               const at::Tensor& v) const {
  at::Tensor scores = at::matmul(q, k.transpose(2, 3)).mul_(1.0 / std::sqrt(static_cast<double>(head_)));
  if (set_.causal) {
    const int64_t time = q.size(2);
    const at::Tensor later = at::ones({time, time}, q.options().dtype(at::kBool)).triu_(1);
    scores.masked_fill_(later, -std::numeric_limits<double>::infinity());
  }
  at::Tensor probabilities = at::softmax(scores, -1);
  scores.reset();
  probabilities = dropout(p, probabilities, set_.dropout, probabilities_.c_str());
  return at::matmul(probabilities, v);
}

// ---- costs --------------------------------------------------------------------------------------------------------

/// Bytes of what flows through, for one micro-batch.
struct self_attention::sizes {
  sizes(const self_attention& s, const sy_port& x)
      : elem(width_of(x.dtype)),
        rows(rows_of(x)),
        time(static_cast<uint64_t>(x.shape[1])),
        stream(bytes_of(x)),
        key(stream / static_cast<uint64_t>(s.set_.heads) * static_cast<uint64_t>(s.set_.kv_heads)),
        qkv(stream + 2 * key),
        lse(rows * static_cast<uint64_t>(s.set_.heads) * std::max<uint64_t>(4, elem)),
        scores(rows * time * static_cast<uint64_t>(s.set_.heads)),
        table(s.set_.rotary ? time * static_cast<uint64_t>(s.head_) * elem : 0),
        tile(query_tile(time) * std::min<uint64_t>(512, time) * std::max<uint64_t>(4, elem)),
        weights_qkv(
            gradient_bytes((static_cast<uint64_t>(s.width_) + (s.set_.bias ? 1 : 0)) * qkv / rows / elem, elem)),
        weights_out(
            gradient_bytes((static_cast<uint64_t>(s.width_) + (s.set_.bias ? 1 : 0)) * stream / rows / elem, elem)) {}
  uint64_t elem, rows, time;
  uint64_t stream;  // x, h, q, o: [rows * time, width]
  uint64_t key;     // k or v
  uint64_t qkv, lse;
  uint64_t scores;  // elements of q k^T
  uint64_t table;   // of rotary positions
  uint64_t tile;    // of scores, which LibTorch's attention on the CPU holds per thread
  uint64_t weights_qkv, weights_out;

 private:
  static uint64_t query_tile(uint64_t time) { return time >= 768 ? 256 : time >= 192 ? 64 : 32; }
};

void self_attention::add_flops(cost& c, const sy_port& x) const {
  const sizes z(*this, x);
  norm_.add_flops(c, z.rows, width_);
  add_linear_flops(c, z.rows, width_, static_cast<int64_t>(z.qkv / z.rows / z.elem), set_.bias);
  // q k^T and the product with v; each has two products in its backward, which also makes the scores again
  const double share = set_.causal ? 0.5 * (1.0 + 1.0 / static_cast<double>(z.time)) : 1.0;
  const double product = 2.0 * static_cast<double>(z.scores) * static_cast<double>(head_) * share;
  const double softmax = 5.0 * static_cast<double>(z.scores) * share;
  add_elementwise_flops(c, 2 * product + softmax, 5 * product + 2 * softmax);
  add_linear_flops(c, z.rows, width_, width_, set_.bias);
  const double n = static_cast<double>(z.rows) * static_cast<double>(width_);
  add_elementwise_flops(c, (set_.residual ? n : 0) + (set_.dropout > 0 ? 2 * n : 0), set_.residual ? n : 0);
}

void self_attention::walk_forward(tally& bytes, const sy_port& x, bool training) const {
  const sizes z(*this, x);
  const bool grouped = set_.kv_heads < set_.heads, normed = !norm_.is_none();
  uint64_t inputs = z.qkv;  // what attention reads and keeps
  if (normed) {
    bytes.take(norm_.forward_scratch(z.rows, width_, x.dtype) + z.stream);
    bytes.drop(norm_.forward_scratch(z.rows, width_, x.dtype));
    bytes.take(norm_.saved_bytes(z.rows, width_, x.dtype));
  }
  bytes.take(z.qkv);
  if (!training && normed) bytes.drop(z.stream + norm_.saved_bytes(z.rows, width_, x.dtype));
  if (set_.rotary) {
    bytes.take(z.table + 3 * z.stream + (grouped ? z.key : 0));
    bytes.drop(z.qkv + (grouped ? z.key : 0));
    inputs = 3 * z.stream;
  } else if (grouped) {
    bytes.take(2 * z.stream);
    inputs = z.qkv + 2 * z.stream;
  }
  if (drops(training)) {
    bytes.take(3 * z.stream);  // contiguous copies of q, k, v
    bytes.take(2 * z.scores * z.elem + (set_.causal ? z.time * z.time : 0));
    bytes.drop(z.scores * z.elem);
    bytes.take(z.scores * (1 + z.elem));
    bytes.drop(inputs);
    bytes.take(2 * z.stream);  // the product and its copy in the order of the input
    bytes.drop(z.stream);
  } else {
    bytes.take(z.stream + z.lse + z.tile);
    bytes.drop(z.tile);
    if (!training) bytes.drop(inputs + z.lse);
  }
  if (!training) bytes.drop(z.table);
  bytes.take(z.stream);
  if (!training) bytes.drop(z.stream);
  if (drops(training)) {
    bytes.take(z.stream + z.stream / z.elem);
    bytes.drop(z.stream);
  }
}

void self_attention::walk_backward(tally& bytes, const sy_port& x) const {
  const sizes z(*this, x);
  const bool normed = !norm_.is_none();
  if (drops(true)) bytes.take(z.stream);
  bytes.take(z.stream + z.weights_out);
  bytes.drop(z.weights_out + (drops(true) ? z.stream + z.stream / z.elem : 0));
  uint64_t kept = z.qkv + z.lse + z.stream;  // by attention
  if (drops(true)) {
    bytes.drop(z.stream);
    bytes.take(z.stream);  // in the order of the product
    bytes.take(z.scores * z.elem + z.stream);
    bytes.drop(z.scores * z.elem + 2 * z.stream);
    bytes.take(z.scores * z.elem);
    bytes.drop(z.scores * (1 + z.elem));
    bytes.take(z.scores * z.elem);
    bytes.drop(2 * z.scores * z.elem);
    bytes.take(3 * z.stream);
    bytes.drop(z.scores * z.elem);
    kept = 2 * z.stream;
  } else {
    bytes.take(3 * z.stream + 2 * z.tile);
    bytes.drop(z.stream + 2 * z.tile);
  }
  bytes.drop(kept);
  bytes.take(z.qkv);
  bytes.drop(3 * z.stream);
  bytes.take(z.stream + z.weights_qkv);
  bytes.drop(z.qkv + z.weights_qkv);
  if (!normed) return;
  bytes.drop(z.stream);
  bytes.take(z.stream + norm_.backward_scratch(z.rows, width_, x.dtype));
  bytes.drop(z.stream + norm_.saved_bytes(z.rows, width_, x.dtype) + norm_.backward_scratch(z.rows, width_, x.dtype));
}

}  // namespace sy
