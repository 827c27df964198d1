// What a feed-forward network with its norm and residual looks like from outside: options, shapes, parameters,
// operations. Its arithmetic is elsewhere, by hand or by autograd.
#pragma once

#include "blocks/activation.hpp"
#include "blocks/cost.hpp"
#include "blocks/norm.hpp"

namespace sy {

inline constexpr const char* feed_forward_activations[] = {"gelu_tanh", "gelu", "silu", "relu", "swiglu", nullptr};

struct feed_forward_options {
  static constexpr const char* help =
      "two products with an activation between, with norm and residual: x + down(activation(up(norm(x))))";
  static constexpr sy_option options[] = {
      i64_option("width", "0", 0, 1e9, "inner width; 0: four times the input's"),
      str_option("activation", "\"gelu_tanh\"", feed_forward_activations, "gelu is exact; swiglu adds a gate"),
      str_option("norm", "\"layer\"", norm_names,
                 "before the products; batch normalises each channel over everything else"),
      bool_option("residual", "true", "add the input to the result"),
      bool_option("bias", "true", "biases in products and LayerNorm"),
      f64_option("dropout", "0.0", 0, 1, "probability, on the result"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance in the norm"),
      i64_option("depth", "0", 0, 1e6,
                 "blocks of the model: starts the last product at 0.02 / sqrt(2 depth); 0: at 0.02"),
  };
};

struct feed_forward_settings {
  explicit feed_forward_settings(const config& c);
  int64_t width, depth;
  bool residual = true, bias, gated;
  double dropout, eps;
  norm_kind kind;
  activation function;
};

struct feed_forward_form {
  /// Parameters are called norm_prefix + "weight" ..., prefix + "up.weight" ...; the mask prefix + "residual".
  feed_forward_form(const feed_forward_settings& settings, const std::string& norm_prefix, const std::string& prefix);

  /// Learns the width from the input.
  void infer(const sy_port& x);
  void declare(std::vector<param>& to) const;
  void add_flops(cost& c, const sy_port& x) const;
  int64_t hidden() const { return set.width > 0 ? set.width : 4 * width; }
  /// Of one tensor between the products.
  uint64_t wide_bytes(const sy_port& x) const {
    return bytes_of(x) / static_cast<uint64_t>(width) * static_cast<uint64_t>(hidden());
  }

  feed_forward_settings set;
  norm before;
  std::string up, gate, down, residual;
  int64_t width = 0;
};

}  // namespace sy
