// Loss layers over predictions that are already there; the head of language models is lm_head.
#include "cross_entropy.hpp"
#include "mse.hpp"

SY_PLUGIN_NOTE("switchyard.layers.loss");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::cross_entropy_layer>(),
    sy::export_torch_layer<sy::mse_layer>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.loss", "0.1.0", exports)
