// Rotary position embedding (Su et al. 2021), the half-split form of Llama: dimensions d and d + D/2 turn together by
// position * base^(-2 d / D).
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// cos and sin, [time, 1, head width / 2], kept between calls.
class SY_EXPORT rotary_table {
 public:
  explicit rotary_table(double base) : base_(base) {}
  /// Turns x [rows, time, heads, head width]; a new tensor. Autograd keeps only the table.
  at::Tensor turn(const at::Tensor& x);

 private:
  void fill(int64_t time, int64_t width, const at::TensorOptions& options);
  double base_;
  at::Tensor cos_, sin_;
};

}  // namespace sy
