// Self-attention with its norm and residual, the first half of a transformer block:
//
//   x ──norm──▶ h ──qkv──▶ q, k, v ──softmax(q k^T / sqrt D) v──▶ o ──out──▶ dropout ──▶ + x
//
// x [rows, time, width]; q, k, v are packed in this order, heads and then kv_heads twice, each D = width / heads wide.
#pragma once

#include "blocks/cost.hpp"
#include "blocks/norm.hpp"
#include "blocks/rotary.hpp"

namespace sy {

struct attention_settings {
  explicit attention_settings(const config& c);
  int64_t heads, kv_heads, depth;
  bool causal, residual = true, bias, rotary;
  double rotary_base, dropout, eps;
  norm_kind kind;
};

class self_attention {
 public:
  /// Parameters are called norm_prefix + "weight" ..., prefix + "qkv.weight" ...; masks prefix + "probabilities",
  /// "residual".
  self_attention(const attention_settings& settings, const std::string& norm_prefix, const std::string& prefix);

  /// Learns the width from the input; refuses shapes that do not divide, and cached kinds of call.
  void infer(uint32_t kind, const sy_port& x);
  void declare(std::vector<param>& to) const;
  /// x [rows * time, width] in and out.
  at::Tensor forward(pass& p, const at::Tensor& x, int64_t rows) const;
  void finish(pass& p) const { norm_.finish(p); }

  void add_flops(cost& c, const sy_port& x) const;
  /// The forward's and backward's allocations in order; the result and the input's gradient stay in the count.
  void walk_forward(tally& bytes, const sy_port& x, bool training) const;
  void walk_backward(tally& bytes, const sy_port& x) const;
  /// Whether the backward reads x.
  bool keeps_input(sy_dtype t) const { return norm_.is_none() || norm_.keeps_input(t); }

 private:
  struct sizes;
  at::Tensor attend(pass& p, at::Tensor qkv, int64_t rows) const;
  at::Tensor attend_with_dropout(pass& p, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  bool drops(bool training) const { return training && set_.dropout > 0; }

  attention_settings set_;
  norm norm_;
  std::string prefix_, qkv_, out_, probabilities_, residual_;
  int64_t width_ = 0, head_ = 0;
};

}  // namespace sy
