// The layers whose backward LibTorch's autograd makes: what the hand-written ones are compared with, and the example
// for layers of LibTorch operators.
#include "attention.hpp"
#include "batchnorm.hpp"
#include "feed_forward.hpp"
#include "gpt_block.hpp"
#include "linear.hpp"
#include "mlp.hpp"
#include "row_norms.hpp"

SY_PLUGIN_NOTE("switchyard.layers.autograd");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::torch_layer<sy::linear_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::mlp_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::layer_norm_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::rms_norm_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::batchnorm_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::batchnorm_fp32_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::attention_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::feed_forward_autograd>>(),
    sy::export_torch_layer<sy::torch_layer<sy::gpt_block_autograd>>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.autograd", "0.1.0", exports)
