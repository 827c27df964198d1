// The feed-forward branch of a transformer block, forward and backward by hand:
//
//   x ──norm──▶ h ──up──▶ u ──activation──▶ a ──down──▶ dropout ──▶ + x          swiglu: a = silu(gate h) * (up h)
//
// x [rows, width].
#pragma once

#include "feed_forward_form.hpp"
#include "pre_norm.hpp"
#include "residual_branch.hpp"

namespace sy {

/// What one forward keeps; the backward for inputs replaces what it has read by what the one for weights needs.
struct feed_forward_saved {
  at::Tensor x;
  normed n;
  at::Tensor up, gate, a;  // up is undefined where the backward reads a
  at::Tensor d_up{}, d_gate{}, d_down{};
};

class feed_forward_branch {
 public:
  feed_forward_branch(const feed_forward_settings& settings, const std::string& norm_prefix, const std::string& prefix)
      : form(settings, norm_prefix, prefix), norm_(settings.kind, settings.eps, norm_prefix) {}

  /// x, or x + add which goes into x, is what the branch begins with. Gives the whole result, residual included.
  at::Tensor forward(const sy_call& call, const bound_params& params, at::Tensor& x, at::Tensor add,
                     feed_forward_saved* keep) const;
  /// dy: of the result. Gives the gradient of x, the residual's share included, and adds its column sums to `columns`.
  /// Adds all gradients but the products' weights.
  at::Tensor backward_input(const sy_call& call, const bound_params& params, const at::Tensor& dy,
                            feed_forward_saved& s, const at::Tensor& columns = {}) const;
  void backward_weight(const bound_params& params, feed_forward_saved&& s) const;
  void finish(const sy_call& call, const bound_params& params) const { norm_.finish(call, params); }

  /// See attention_branch. makes_x: out of x and `add`, which the forward releases.
  void walk_forward(tally& bytes, const sy_port& x, bool training, bool makes_x) const;
  /// owns_x: nobody else holds x.
  void walk_backward_input(tally& bytes, const sy_port& x, bool owns_x) const;
  void walk_backward_weight(tally& bytes, const sy_port& x) const;
  uint64_t held_bytes(const sy_port& x) const;
  bool keeps_input() const { return norm_.keeps_input(); }

  feed_forward_form form;

 private:
  bool keeps_up() const;
  bool drops(bool training) const { return training && form.set.dropout > 0; }
  at::Tensor linear(const bound_params& params, const std::string& name, const at::Tensor& x,
                    const at::Tensor& add = {}) const;
  at::Tensor activation_backward(const sy_call& call, const bound_params& params, at::Tensor da,
                                 feed_forward_saved& s) const;
  pre_norm norm_;
};

}  // namespace sy
