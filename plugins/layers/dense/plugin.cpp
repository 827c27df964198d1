// Layers made of dense products and elementwise functions.
#include "activation.hpp"
#include "linear.hpp"
#include "mlp.hpp"

SY_PLUGIN_NOTE("switchyard.layers.dense");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::linear_layer>(),
    sy::export_torch_layer<sy::mlp_layer>(),
    sy::export_torch_layer<sy::torch_layer<sy::activation_layer>>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.dense", "0.1.0", exports)
