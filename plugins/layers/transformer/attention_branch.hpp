// The attention branch of a transformer block, forward and backward by hand:
//
//   x ──norm──▶ h ──qkv──▶ q, k, v ──(rotary)──▶ attention ──▶ o ──out──▶ dropout ──▶ + x
//
// x [rows * time, width]; q, k, v are packed in this order, heads and then kv_heads twice, each D = width / heads wide.
#pragma once

#include "attend.hpp"
#include "attention_form.hpp"
#include "kernels/bias_gradient.hpp"
#include "pre_norm.hpp"
#include "residual_branch.hpp"

namespace sy {

/// What one forward keeps; the backward for inputs replaces what it has read by what the one for weights needs.
struct attention_saved {
  at::Tensor x;
  normed n;
  at::Tensor qkv;  // after rotary
  attended attention;
  at::Tensor d_qkv{};  // before rotary
  at::Tensor d_out{};  // the gradient of the last product's result
};

/// The last product's result: with x added where that costs nothing, else it is still to be dropped from and added.
struct branch_result {
  at::Tensor y;
  bool complete;
};

class attention_branch {
 public:
  attention_branch(const attention_settings& settings, const std::string& norm_prefix, const std::string& prefix)
      : form(settings, norm_prefix, prefix), norm_(settings.kind, settings.eps, norm_prefix) {}

  /// keep: NULL, or what a backward needs.
  branch_result forward(const sy_call& call, const bound_params& params, const at::Tensor& x,
                        attention_saved* keep) const;
  /// x + dropout(result), in the place of result; without residual or dropout what is left of it.
  at::Tensor add_residual(const sy_call& call, const at::Tensor& x, at::Tensor result) const;
  /// Whether the result can be added to x as it is.
  bool adds_plainly(const sy_call& call) const { return form.set.residual && !drops(call); }

  /// The gradient of the last product's result, of dy's place where nothing is dropped.
  at::Tensor through_dropout(const sy_call& call, const at::Tensor& dy) const;
  /// The bias that shifts the last product's result, its gradient: column sums of through_dropout(dy).
  at::Tensor out_bias_gradient(const bound_params& params) const { return params.grad(form.out, "bias"); }
  /// dy: of the branch's whole result, d: through_dropout(dy), both kept until backward_weight where needed. Gives the
  /// gradient of x, the residual's share included. Adds all gradients but the products' weights and the last bias.
  at::Tensor backward_input(const sy_call& call, const bound_params& params, const at::Tensor& dy, at::Tensor d,
                            attention_saved& s) const;
  void backward_weight(const bound_params& params, attention_saved&& s) const;
  void finish(const sy_call& call, const bound_params& params) const { norm_.finish(call, params); }

  /// Allocations in order; the result and the input's gradient stay in the count.
  void walk_forward(tally& bytes, const sy_port& x, bool training) const;
  void walk_backward_input(tally& bytes, const sy_port& x) const;
  void walk_backward_weight(tally& bytes, const sy_port& x) const;
  /// Between the two, the gradient of the result among them.
  uint64_t held_bytes(const sy_port& x) const;
  /// Whether the backward reads x.
  bool keeps_input() const { return norm_.keeps_input(); }

  attention_form form;

 private:
  struct sizes;
  bool drops(bool training) const { return training && form.set.dropout > 0; }
  bool drops(const sy_call& call) const { return drops(call.kind == SY_TRAIN); }
  query_key_value split(const at::Tensor& qkv, int64_t rows) const;
  attention_call call_of(const sy_call& call) const;
  void turn(const sy_call& call, at::Tensor& qkv, bool back) const;
  at::Tensor packed_gradient(const sy_call& call, const bound_params& params, const query_key_value& d) const;

  pre_norm norm_;
};

}  // namespace sy
