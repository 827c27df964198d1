// LayerNorm (Ba, Kiros, Hinton 2016) and RMSNorm (Zhang, Sennrich 2019) over the last dimension of [rows, width], with
// the residual addition before them and the gradients that come out of them.
//
//   layer  y = (x - mean) * rstd * weight + bias,  rstd = 1 / sqrt(var + eps)
//   rms    y = x * rstd * weight,                  rstd = 1 / sqrt(mean(x^2) + eps)
#pragma once

#include "lane.hpp"

namespace sy::kernels {

enum class norm_rule : uint8_t { layer, rms };

struct norm_size {
  int64_t rows, width;
  sy_dtype type;
  norm_rule rule;
  double eps;
};

struct norm_forward_data {
  const void* x;
  const void* residual = nullptr;  // NULL: none; else the norm is of x + residual
  void* sum = nullptr;             // where x + residual goes, rounded to `type` (the norm is of what was rounded)
  const void* weight;
  const void* bias = nullptr;  // NULL: none
  void* y;
  void* mean = nullptr;  // wide(type) [rows]; layer only
  void* rstd;            // wide(type) [rows]
};
void norm_forward(const lane&, const norm_size&, const norm_forward_data&);

struct norm_backward_data {
  const void* dy;
  const void* x;  // what was normalised
  const void* weight;
  const void* mean = nullptr;
  const void* rstd;
  const void* add = nullptr;  // NULL, or a gradient of x that came another way: added to the result
  void* dx = nullptr;         // NULL: not wanted. May be dy or add.
  sum weight_gradient, bias_gradient;
  sum column_sum;           // of dx as stored: the bias gradient of the product whose result was added to x
  void* scratch = nullptr;  // norm_backward_scratch bytes
};
/// One pass over dy, x and add makes all that is wanted.
void norm_backward(const lane&, const norm_size&, const norm_backward_data&);
uint64_t norm_backward_scratch(const lane&, const norm_size&);

}  // namespace sy::kernels
