// Norms as layers.
#include "batchnorm.hpp"
#include "row_norms.hpp"

SY_PLUGIN_NOTE("switchyard.layers.norm");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::layer_norm_layer>(),
    sy::export_torch_layer<sy::rms_norm_layer>(),
    sy::export_torch_layer<sy::batchnorm_layer>(),
    sy::export_torch_layer<sy::batchnorm_fp32_layer>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.norm", "0.1.0", exports)
