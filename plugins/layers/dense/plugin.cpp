// Layers made of dense products and elementwise functions.
#include "../autograd/linear.hpp"
#include "../autograd/mlp.hpp"
#include "activation.hpp"

namespace sy {

struct linear_layer : linear_autograd {
  static constexpr const char* id = "linear";
  using linear_autograd::linear_autograd;
};
struct mlp_layer : mlp_autograd {
  static constexpr const char* id = "mlp";
  using mlp_autograd::mlp_autograd;
};

}  // namespace sy

SY_PLUGIN_NOTE("switchyard.layers.dense");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::torch_layer<sy::linear_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::mlp_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::activation_layer>>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.dense", "0.1.0", exports)
