// Layers without weights that join, cut, average or drop.
#include "dropout.hpp"
#include "join.hpp"
#include "reduce.hpp"

SY_PLUGIN_NOTE("switchyard.layers.shape");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::torch_layer<sy::add_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::concat_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::dropout_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::flatten_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::mean_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::select_layer>>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.shape", "0.1.0", exports)
