// Dropout whose mask is counted (switchyard/random.h), never stored: the backward makes it again.
#pragma once

#include "lane.hpp"

namespace sy::kernels {

/// The mask of one place in one call.
struct drawing {
  uint32_t key[2];  // sy_random_key(seed, hash of LAYER.PLACE)
  uint32_t step;
  int64_t first_sample;
  double probability;
};

/// y = add + (dropped ? 0 : x / (1 - p)), over samples x per_sample elements numbered in row-major order within their
/// sample. add: NULL is 0. y may be x or add.
void drop(const lane&, sy_dtype type, int64_t samples, int64_t per_sample, const drawing&, const void* x,
          const void* add, void* y);

}  // namespace sy::kernels
