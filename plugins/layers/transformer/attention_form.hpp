// What a self-attention with its norm and residual looks like from outside: options, shapes, parameters, operations.
// Its arithmetic is elsewhere, by hand or by autograd.
#pragma once

#include "blocks/cost.hpp"
#include "blocks/norm.hpp"

namespace sy {

struct attention_options {
  static constexpr const char* help =
      "multi-head self-attention with its norm and residual: x + attention(norm(x)); input [rows, time, width]";
  static constexpr sy_option options[] = {
      i64_option("heads", nullptr, 1, 65536, "attention heads; must divide the width"),
      i64_option("kv_heads", "0", 0, 65536, "key and value heads, each shared by heads / kv_heads; 0: as heads"),
      bool_option("causal", "true", "a position sees itself and earlier ones only"),
      str_option("norm", "\"layer\"", norm_names,
                 "before the products; batch normalises each channel over rows and time"),
      bool_option("residual", "true", "add the input to the result"),
      bool_option("rotary", "false", "rotary positions (half-split, as Llama)"),
      f64_option("rotary_base", "10000.0", 1, 1e12, "slowest wave length of rotary positions, over 2 pi"),
      bool_option("bias", "true", "biases in products and LayerNorm"),
      f64_option("dropout", "0.0", 0, 1, "probability, on attention probabilities and the result"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance in the norm"),
      i64_option("depth", "0", 0, 1e6,
                 "blocks of the model: starts the last product at 0.02 / sqrt(2 depth); 0: at 0.02"),
  };
};

struct attention_settings {
  explicit attention_settings(const config& c);
  int64_t heads, kv_heads, depth;
  bool causal, residual = true, bias, rotary;
  double rotary_base, dropout, eps;
  norm_kind kind;
};

struct attention_form {
  /// Parameters are called norm_prefix + "weight" ..., prefix + "qkv.weight" ...; masks prefix + "probabilities",
  /// "residual".
  attention_form(const attention_settings& settings, const std::string& norm_prefix, const std::string& prefix);

  /// Learns the width from the input; refuses shapes that do not divide, and cached kinds of call.
  void infer(uint32_t kind, const sy_port& x);
  void declare(std::vector<param>& to) const;
  void add_flops(cost& c, const sy_port& x) const;
  int64_t packed_heads() const { return set.heads + 2 * set.kv_heads; }

  attention_settings set;
  norm before;
  std::string qkv, out, probabilities, residual;
  int64_t width = 0, head = 0;  // of the input, of one head
};

}  // namespace sy
