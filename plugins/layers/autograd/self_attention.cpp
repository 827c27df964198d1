#include "self_attention.hpp"

#include <ATen/ops/linear.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>

#include <cmath>
#include <limits>

#include "blocks/dropout.hpp"

namespace sy {

at::Tensor self_attention::forward(pass& p, const at::Tensor& x, int64_t rows) const {
  at::Tensor h = form_.before.apply(p, x);
  at::Tensor qkv = at::linear(h, p(form_.qkv, "weight"), p(form_.qkv, "bias"));
  h.reset();
  at::Tensor o = attend(p, std::move(qkv), rows);
  at::Tensor y = at::linear(o, p(form_.out, "weight"), p(form_.out, "bias"));
  o.reset();
  y = dropout(p, y, form_.set.dropout, form_.residual.c_str());
  return form_.set.residual ? y.add_(x) : y;
}

at::Tensor self_attention::attend(pass& p, at::Tensor qkv, int64_t rows) const {
  const int64_t time = qkv.size(0) / rows, groups = form_.set.heads / form_.set.kv_heads;
  auto parts = qkv.view({rows, time, -1, form_.head})
                   .split_with_sizes({form_.set.heads, form_.set.kv_heads, form_.set.kv_heads}, 2);
  qkv.reset();
  if (form_.set.rotary) {
    const rotary_table table = make_rotary_table(time, form_.head, form_.set.rotary_base, parts[0].options());
    parts[0] = turn(parts[0], table);
    parts[1] = turn(parts[1], table);
  }
  for (std::size_t i = 1; i < 3; ++i) {
    if (groups > 1)  // each key and value head serves `groups` query heads in a row
      parts[i] = parts[i]
                     .unsqueeze(3)
                     .expand({rows, time, form_.set.kv_heads, groups, form_.head})
                     .reshape({rows, time, form_.set.heads, form_.head});
    else if (i == 2 && form_.set.rotary)
      parts[i] = parts[i].clone();  // or it would keep all of qkv alive
  }
  at::Tensor q = parts[0].transpose(1, 2), k = parts[1].transpose(1, 2), v = parts[2].transpose(1, 2);
  parts.clear();
  const at::Tensor o = drops(p.training()) ? attend_with_dropout(p, q, k, v)
                                           : at::scaled_dot_product_attention(q, k, v, {}, 0.0, form_.set.causal);
  return o.transpose(1, 2).reshape({rows * time, form_.width});
}

/// LibTorch's own dropout would draw from its own generator.
at::Tensor self_attention::attend_with_dropout(pass& p, const at::Tensor& q, const at::Tensor& k,
                                               const at::Tensor& v) const {
  at::Tensor scores = at::matmul(q, k.transpose(2, 3)).mul_(1.0 / std::sqrt(static_cast<double>(form_.head)));
  if (form_.set.causal) {
    const int64_t time = q.size(2);
    const at::Tensor later = at::ones({time, time}, q.options().dtype(at::kBool)).triu_(1);
    scores.masked_fill_(later, -std::numeric_limits<double>::infinity());
  }
  at::Tensor probabilities = at::softmax(scores, -1);
  scores.reset();
  probabilities = dropout(p, probabilities, form_.set.dropout, form_.probabilities.c_str());
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
        key(stream / static_cast<uint64_t>(s.form_.set.heads) * static_cast<uint64_t>(s.form_.set.kv_heads)),
        qkv(stream + 2 * key),
        lse(rows * static_cast<uint64_t>(s.form_.set.heads) * std::max<uint64_t>(4, elem)),
        scores(rows * time * static_cast<uint64_t>(s.form_.set.heads)),
        table(s.form_.set.rotary ? time * static_cast<uint64_t>(s.form_.head) * elem : 0),
        tile(query_tile(time) * std::min<uint64_t>(512, time) * std::max<uint64_t>(4, elem)),
        weights_qkv(gradient_bytes(
            (static_cast<uint64_t>(s.form_.width) + (s.form_.set.bias ? 1 : 0)) * qkv / rows / elem, elem)),
        weights_out(gradient_bytes(
            (static_cast<uint64_t>(s.form_.width) + (s.form_.set.bias ? 1 : 0)) * stream / rows / elem, elem)) {}
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

void self_attention::walk_forward(tally& bytes, const sy_port& x, bool training) const {
  const sizes z(*this, x);
  const bool grouped = form_.set.kv_heads < form_.set.heads, normed = !form_.before.is_none();
  uint64_t inputs = z.qkv;  // what attention reads and keeps
  if (normed) {
    bytes.take(form_.before.forward_scratch(z.rows, form_.width, x.dtype) + z.stream);
    bytes.drop(form_.before.forward_scratch(z.rows, form_.width, x.dtype));
    bytes.take(form_.before.saved_bytes(z.rows, form_.width, x.dtype));
  }
  bytes.take(z.qkv);
  if (!training && normed) bytes.drop(z.stream + form_.before.saved_bytes(z.rows, form_.width, x.dtype));
  if (form_.set.rotary) {
    bytes.take(z.table + 3 * z.stream + (grouped ? z.key : 0));
    bytes.drop(z.qkv + (grouped ? z.key : 0));
    inputs = 3 * z.stream;
  } else if (grouped) {
    bytes.take(2 * z.stream);
    inputs = z.qkv + 2 * z.stream;
  }
  if (drops(training)) {
    bytes.take(3 * z.stream);  // contiguous copies of q, k, v
    bytes.take(2 * z.scores * z.elem + (form_.set.causal ? z.time * z.time : 0));
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
  const bool normed = !form_.before.is_none();
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
  bytes.take(z.stream + form_.before.backward_scratch(z.rows, form_.width, x.dtype));
  bytes.drop(z.stream + form_.before.saved_bytes(z.rows, form_.width, x.dtype) +
             form_.before.backward_scratch(z.rows, form_.width, x.dtype));
}

}  // namespace sy
