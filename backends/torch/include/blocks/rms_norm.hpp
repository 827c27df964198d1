// Root mean square normalisation (Zhang, Sennrich 2019): y = x / sqrt(mean(x^2) + eps) * w over the last dimension.
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// Statistics in fp32 (fp64 for fp64); the result has x's type. Autograd keeps x, w and one number per row.
SY_EXPORT at::Tensor rms_norm(const at::Tensor& x, const at::Tensor& weight, double eps);

/// The pieces, for backwards written by hand. rstd: [..., 1].
struct rms_normed {
  at::Tensor y, rstd;
};
SY_EXPORT rms_normed rms_norm_forward(const at::Tensor& x, const at::Tensor& weight, double eps);
struct rms_gradients {
  at::Tensor x, weight;
};
SY_EXPORT rms_gradients rms_norm_backward(const at::Tensor& dy, const at::Tensor& x, const at::Tensor& weight,
                                          const at::Tensor& rstd, bool want_x, bool want_weight);

}  // namespace sy
