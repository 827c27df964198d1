// Layers in plain C++ without any library, for tests of the core under sanitizers.

#include "batchnorm.hpp"
#include "cross_entropy.hpp"
#include "embedding.hpp"
#include "linear.hpp"
#include "norm.hpp"
#include "pointwise.hpp"
#include "split.hpp"

SY_PLUGIN_NOTE("layer-plain");
static constexpr sy_export exports[] = {
    sy::export_layer<plain::Linear>(),    sy::export_layer<plain::Relu>(),      sy::export_layer<plain::Tanh>(),
    sy::export_layer<plain::Embedding>(), sy::export_layer<plain::Norm>(),      sy::export_layer<plain::Add>(),
    sy::export_layer<plain::Dropout>(),   sy::export_layer<plain::BatchNorm>(), sy::export_layer<plain::CrossEntropy>(),
    sy::export_layer<plain::Head>(),      sy::export_layer<plain::Split>(),
};
SY_DEFINE_PLUGIN("layer-plain", "0.1.0", exports)
