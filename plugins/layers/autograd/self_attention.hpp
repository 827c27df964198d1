// Self-attention with its norm and residual, the first half of a transformer block:
//
//   x ──norm──▶ h ──qkv──▶ q, k, v ──softmax(q k^T / sqrt D) v──▶ o ──out──▶ dropout ──▶ + x
//
// x [rows, time, width]; q, k, v are packed in this order, heads and then kv_heads twice, each D = width / heads wide.
#pragma once

#include "../transformer/attention_form.hpp"
#include "blocks/rotary.hpp"

namespace sy {

class self_attention {
 public:
  self_attention(const attention_settings& settings, const std::string& norm_prefix, const std::string& prefix)
      : form_(settings, norm_prefix, prefix) {}

  void infer(uint32_t kind, const sy_port& x) { form_.infer(kind, x); }
  void declare(std::vector<param>& to) const { form_.declare(to); }
  /// x [rows * time, width] in and out.
  at::Tensor forward(pass& p, const at::Tensor& x, int64_t rows) const;
  void finish(pass& p) const { form_.before.finish(p); }

  void add_flops(cost& c, const sy_port& x) const { form_.add_flops(c, x); }
  /// The forward's and backward's allocations in order; the result and the input's gradient stay in the count.
  void walk_forward(tally& bytes, const sy_port& x, bool training) const;
  void walk_backward(tally& bytes, const sy_port& x) const;
  /// Whether the backward reads x.
  bool keeps_input(sy_dtype t) const { return form_.before.is_none() || form_.before.keeps_input(t); }

 private:
  struct sizes;
  at::Tensor attend(pass& p, at::Tensor qkv, int64_t rows) const;
  at::Tensor attend_with_dropout(pass& p, const at::Tensor& q, const at::Tensor& k, const at::Tensor& v) const;
  bool drops(bool training) const { return training && form_.set.dropout > 0; }

  attention_form form_;
};

}  // namespace sy
