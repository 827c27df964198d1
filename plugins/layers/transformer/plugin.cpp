// What language models are made of.
#include "attention.hpp"
#include "embedding.hpp"
#include "feed_forward.hpp"
#include "gpt_block.hpp"
#include "lm_head.hpp"

SY_PLUGIN_NOTE("switchyard.layers.transformer");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::embedding_layer>(),    sy::export_torch_layer<sy::attention_layer>(),
    sy::export_torch_layer<sy::feed_forward_layer>(), sy::export_torch_layer<sy::gpt_block_layer>(),
    sy::export_torch_layer<sy::lm_head_layer>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.transformer", "0.1.0", exports)
