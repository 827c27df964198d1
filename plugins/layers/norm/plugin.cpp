// Norms as layers.
#include "../autograd/batchnorm.hpp"
#include "../autograd/row_norms.hpp"

namespace sy {

struct layer_norm_layer : layer_norm_autograd {
  static constexpr const char* id = "layer_norm";
  using layer_norm_autograd::layer_norm_autograd;
};
struct rms_norm_layer : rms_norm_autograd {
  static constexpr const char* id = "rms_norm";
  using rms_norm_autograd::rms_norm_autograd;
};
struct batchnorm_layer : batchnorm_autograd {
  static constexpr const char* id = "batchnorm";
  using batchnorm_autograd::batchnorm_autograd;
};
struct batchnorm_fp32_layer : batchnorm_fp32_autograd {
  static constexpr const char* id = "batchnorm_fp32";
  using batchnorm_fp32_autograd::batchnorm_fp32_autograd;
};

}  // namespace sy

SY_PLUGIN_NOTE("switchyard.layers.norm");
static constexpr sy_export exports[] = {
    sy::export_torch_layer<sy::torch_layer<sy::layer_norm_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::rms_norm_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::batchnorm_layer>>(),
    sy::export_torch_layer<sy::torch_layer<sy::batchnorm_fp32_layer>>(),
};
SY_DEFINE_TORCH_PLUGIN("switchyard.layers.norm", "0.1.0", exports)
