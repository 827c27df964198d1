// Rotary position embedding (Su et al. 2021), the half-split form of Llama: dimensions d and d + D/2 turn together by
// position * base^(-2 d / D).
#pragma once

#include "lane.hpp"

namespace sy::kernels {

/// Turns the first `heads` heads of each row of x [rows, row_stride elements] in place; the position is the row modulo
/// `time`. Angles in fp64, cosine and sine rounded to wide(type). back: by the negative angle, which is the backward.
void rotate(const lane&, sy_dtype type, int64_t rows, int64_t time, int64_t heads, int64_t head_width,
            int64_t row_stride, double base, bool back, void* x);

}  // namespace sy::kernels
