// Layers over images.
#include "conv2d.hpp"
#include "pool2d.hpp"

SY_PLUGIN_NOTE("switchyard.layers.conv");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::torch_layer<sy::conv2d_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::pool2d_layer>>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.conv", "0.1.0", exports)
