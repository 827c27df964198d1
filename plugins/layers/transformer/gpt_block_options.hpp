// How a transformer block is configured.
#pragma once

#include "attention_form.hpp"
#include "feed_forward_form.hpp"

namespace sy {

struct gpt_block_options {
  static constexpr const char* help =
      "transformer block with norms in front: x + attention(norm1(x)), then + feed-forward(norm2(.)); input [rows, "
      "time, width]";
  static constexpr sy_option options[] = {
      i64_option("heads", nullptr, 1, 65536, "attention heads; must divide the width"),
      i64_option("kv_heads", "0", 0, 65536, "key and value heads, each shared by heads / kv_heads; 0: as heads"),
      bool_option("causal", "true", "a position sees itself and earlier ones only"),
      str_option("norm", "\"layer\"", row_norm_names, "LayerNorm or RMSNorm"),
      str_option("activation", "\"gelu_tanh\"", feed_forward_activations, "of the feed-forward network; gelu is exact"),
      i64_option("width", "0", 0, 1e9, "inner width of the feed-forward network; 0: four times the input's"),
      bool_option("rotary", "false", "rotary positions (half-split, as Llama)"),
      f64_option("rotary_base", "10000.0", 1, 1e12, "slowest wave length of rotary positions, over 2 pi"),
      bool_option("bias", "true", "biases in products and LayerNorms"),
      f64_option("dropout", "0.0", 0, 1, "probability, on attention probabilities and both residual branches"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance in norms"),
      i64_option("depth", "0", 0, 1e6,
                 "blocks of the model: starts residual projections at 0.02 / sqrt(2 depth); 0: at 0.02"),
  };
};

}  // namespace sy
