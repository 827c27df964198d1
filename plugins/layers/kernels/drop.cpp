#include "drop.hpp"

#include "dispatch.hpp"

namespace sy::kernels {

void drop(const lane& on, sy_dtype type, int64_t samples, int64_t per_sample, const drawing& from, const void* x,
          const void* add, void* y) {
  expect_float("drop", type);
  if (samples > 0 && per_sample > 0) SY_ON_LANE(on, drop, type, samples, per_sample, from, x, add, y);
}

}  // namespace sy::kernels
