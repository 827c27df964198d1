// The head of a language model: final norm, product with the vocabulary, softmax with cross-entropy.
//
//   x ──norm──▶ h ──weight──▶ logits ──softmax──▶ loss
//
// A training forward makes the loss and all gradients at once, so that the logits of one micro-batch (or of one chunk
// of its rows) are all that ever lives of them, under every schedule: their gradient is made in their place, and the
// gradient of h in the place of h.
#pragma once

#include <optional>

#include "blocks/norm.hpp"
#include "blocks/softmax_loss.hpp"
#include "kernels/norm_pass.hpp"

namespace sy {

struct lm_head_layer {
  static constexpr const char* norm_kinds[] = {"layer", "rms", "none", nullptr};
  static constexpr const char* id = "lm_head";
  static constexpr const char* help =
      "final norm, product with the vocabulary and cross-entropy; inputs [rows, time, width], then the targets; weight "
      "[vocabulary, width]";
  static constexpr sy_option options[] = {
      i64_option("vocabulary", "0", 0, 1e9, "number of classes; tied heads take the embedding's"),
      str_option("tied_to", "\"\"", nullptr, "share this weight, e.g. \"embed.token.weight\" or just \"embed\""),
      bool_option("bias", "false", "add a learned bias to the logits"),
      str_option("norm", "\"layer\"", norm_kinds, "LayerNorm, RMSNorm or none before the product"),
      i64_option("chunk", "0", 0, 1e9, "rows (samples times time) whose logits are made at once; 0: all", "rows"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance in the norm"),
  };
  static constexpr uint32_t caps = SY_L_LOSS;
  using saved = loss_saved;
  explicit lm_head_layer(const config& c);

  std::vector<port> infer(uint32_t kind, ports in);
  std::vector<param> params() const;
  sy::cost cost(uint32_t kind, const_ports in) const;
  void bind(const sy_binding& b) { params_.bind(params(), b); }
  saved forward(const sy_call& call);
  void backward(const sy_call& call, saved&& kept) { hand_over(call, std::move(kept)); }

 private:
  struct chunk;
  at::Tensor normalise(const sy_call& call, const at::Tensor& x, kernels::norm_statistics& kept) const;
  at::Tensor predict(const sy_call& call) const;
  saved learn(const sy_call& call) const;
  void go_through(const sy_call& call, const chunk& part) const;
  int64_t chunk_of(int64_t rows) const { return chunk_ > 0 && chunk_ < rows ? chunk_ : rows; }
  bool normed() const { return kind_ != norm_kind::none; }
  kernels::norm_rule rule() const {
    return kind_ == norm_kind::layer ? kernels::norm_rule::layer : kernels::norm_rule::rms;
  }
  kernels::norm_weights norm_values() const { return {params_.find("norm.", "weight"), params_.find("norm.", "bias")}; }
  kernels::norm_weights norm_gradients() const {
    return {params_.grad("norm.", "weight"), params_.grad("norm.", "bias")};
  }

  int64_t vocabulary_, chunk_, width_ = 0;
  std::string tied_to_;
  bool bias_;
  double eps_;
  norm_kind kind_;
  norm norm_;  // declarations and costs; the arithmetic is here
  std::optional<int64_t> ignore_;
  bound_params params_;
};

}  // namespace sy
