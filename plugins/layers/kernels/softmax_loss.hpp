// Softmax with cross-entropy over rows of logits, and its gradient in their place.
//
//   p_nj = exp(x_nj) / sum_k exp(x_nk),  loss_n = - log p_n,t(n),  dx_nj = weight (p_nj - [j = t(n)])
//
// Rows whose target is `ignore` count nothing: loss 0, gradient 0. A target that is no class makes the loss NaN.
#pragma once

#include "lane.hpp"

namespace sy::kernels {

struct softmax_loss_data {
  int64_t rows, classes;
  sy_dtype type;
  void* logits;          // [rows, classes]
  const void* targets;   // [rows]
  sy_dtype target_type;  // any integer type
  bool ignores = false;
  int64_t ignore = 0;
  double weight = 0;
  bool gradient = false;    // logits become their gradient; else they are left alone
  double* losses;           // [rows]
  double* right = nullptr;  // [rows] or NULL: 1 where no logit is larger than the target's and none before it equal
};
void softmax_loss(const lane&, const softmax_loss_data&);

/// out[0] = the sum of losses, out[1] = the sum of right (-1 when NULL), in fp32, added in fp64.
void sum_losses(const lane&, int64_t rows, const double* losses, const double* right, float* out);

}  // namespace sy::kernels
