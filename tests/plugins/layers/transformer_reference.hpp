// Transformer blocks in plain LibTorch operators, written out.
#pragma once

#include "against_autograd.hpp"

namespace layers {

struct BlockShape {
  int64_t heads = 2, kv_heads = 2;
  bool causal = true, rotary = false, rms = false;
  std::string activation = "gelu_tanh";
};

inline at::Tensor find(const Named& w, const std::string& name) { return w.count(name) ? w.at(name) : at::Tensor(); }

inline at::Tensor norm_of(const at::Tensor& x, const Named& w, const std::string& prefix, bool rms) {
  const at::Tensor weight = find(w, prefix + "weight");
  if (!weight.defined()) return x;
  if (!rms) return at::layer_norm(x, {x.size(-1)}, weight, find(w, prefix + "bias"), 1e-5);
  return x / at::sqrt(x.square().mean(-1, true) + 1e-5) * weight;
}

/// Pairs (d, d + D/2) of position t turn by t * 10000^(-2d/D).
inline at::Tensor rotated(const at::Tensor& x) {  // [rows, heads, time, D]
  const int64_t time = x.size(2), width = x.size(3), half = width / 2;
  const at::Tensor speed = at::pow(10000.0, at::arange(0, half, at::kDouble) * (-2.0 / static_cast<double>(width)));
  const at::Tensor angle = at::outer(at::arange(0, time, at::kDouble), speed).to(x.scalar_type());
  const at::Tensor a = x.narrow(3, 0, half), b = x.narrow(3, half, half), c = angle.cos(), s = angle.sin();
  return at::cat({a * c - b * s, b * c + a * s}, 3);
}

/// keep: what dropout leaves of the probabilities, [rows, heads, time, time], already scaled; undefined: everything.
inline at::Tensor attention_of(const at::Tensor& h, const Named& w, const std::string& prefix, const BlockShape& s,
                               const at::Tensor& keep = {}) {
  const int64_t rows = h.size(0), time = h.size(1), head = h.size(2) / s.heads;
  const at::Tensor qkv = at::linear(h, w.at(prefix + "qkv.weight"), find(w, prefix + "qkv.bias"));
  const auto part = [&](int64_t begin, int64_t heads) {
    return qkv.narrow(2, begin * head, heads * head).reshape({rows, time, heads, head}).transpose(1, 2);
  };
  at::Tensor q = part(0, s.heads), k = part(s.heads, s.kv_heads), v = part(s.heads + s.kv_heads, s.kv_heads);
  if (s.rotary) q = rotated(q), k = rotated(k);
  k = k.repeat_interleave(s.heads / s.kv_heads, 1), v = v.repeat_interleave(s.heads / s.kv_heads, 1);
  at::Tensor scores = at::matmul(q, k.transpose(2, 3)) / std::sqrt(static_cast<double>(head));
  if (s.causal) scores = scores + at::full({time, time}, -INFINITY, scores.options()).triu(1);
  at::Tensor p = at::softmax(scores, -1);
  if (keep.defined()) p = p * keep;
  const at::Tensor o = at::matmul(p, v).transpose(1, 2).reshape({rows, time, -1});
  return at::linear(o, w.at(prefix + "out.weight"), find(w, prefix + "out.bias"));
}

inline at::Tensor feed_forward_of(const at::Tensor& h, const Named& w, const std::string& prefix,
                                  const std::string& activation) {
  at::Tensor a = at::linear(h, w.at(prefix + "up.weight"), find(w, prefix + "up.bias"));
  if (activation == "swiglu")
    a = at::silu(at::linear(h, w.at(prefix + "gate.weight"), find(w, prefix + "gate.bias"))) * a;
  else if (activation == "relu")
    a = at::relu(a);
  else if (activation == "silu")
    a = at::silu(a);
  else
    a = at::gelu(a, activation == "gelu" ? "none" : "tanh");
  return at::linear(a, w.at(prefix + "down.weight"), find(w, prefix + "down.bias"));
}

inline Reference block_of(const BlockShape& s) {
  return [s](const Tensors& in, const Named& w) {
    const at::Tensor x = in[0] + attention_of(norm_of(in[0], w, "norm1.", s.rms), w, "attn.", s);
    return x + feed_forward_of(norm_of(x, w, "norm2.", s.rms), w, "mlp.", s.activation);
  };
}

}  // namespace layers
