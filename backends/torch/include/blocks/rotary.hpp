// Rotary position embedding (Su et al. 2021), the half-split form of Llama: dimensions d and d + D/2 turn together by
// position * base^(-2 d / D).
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// cos and sin, [time, 1, head width / 2].
struct rotary_table {
  at::Tensor cos, sin;
};
/// Computed in fp64; made anew for each call, which costs less than its place in every layer. options: of x below.
SY_EXPORT rotary_table make_rotary_table(int64_t time, int64_t head_width, double base,
                                         const at::TensorOptions& options);

/// Turns x [rows, time, heads, head width]; a new tensor. Autograd keeps only the table.
SY_EXPORT at::Tensor turn(const at::Tensor& x, const rotary_table& table);

}  // namespace sy
