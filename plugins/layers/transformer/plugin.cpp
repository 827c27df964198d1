// What language models are made of.
#include "../autograd/attention.hpp"
#include "../autograd/feed_forward.hpp"
#include "../autograd/gpt_block.hpp"
#include "embedding.hpp"
#include "lm_head.hpp"

namespace sy {

struct attention_layer : attention_autograd {
  static constexpr const char* id = "attention";
  using attention_autograd::attention_autograd;
};
struct feed_forward_layer : feed_forward_autograd {
  static constexpr const char* id = "feed_forward";
  using feed_forward_autograd::feed_forward_autograd;
};
struct gpt_block_layer : gpt_block_autograd {
  static constexpr const char* id = "gpt_block";
  using gpt_block_autograd::gpt_block_autograd;
};

}  // namespace sy

SY_PLUGIN_NOTE("switchyard.layers.transformer");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::embedding_layer>(),
    sy::export_torch_layer<sy::torch_layer<sy::attention_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::feed_forward_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::gpt_block_layer>>(),
    sy::export_torch_layer<sy::lm_head_layer>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.transformer", "0.1.0", exports)
