// Root mean square normalisation (Zhang, Sennrich 2019): y = x / sqrt(mean(x^2) + eps) * w over the last dimension.
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// Statistics in fp32 (fp64 for fp64); the result has x's type. Autograd keeps x, w and one number per row.
SY_EXPORT at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

}  // namespace sy
