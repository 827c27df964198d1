// Whole numbers of any type, as ids and targets are.
#pragma once

#include <cstdint>

#include "switchyard/base.h"

#ifdef __CUDACC__
#define SY_WHOLE_FN __host__ __device__ inline
#else
#define SY_WHOLE_FN [[gnu::always_inline]] inline
#endif

namespace sy::kernels {

SY_WHOLE_FN int64_t whole_at(const void* data, sy_dtype type, int64_t i) {
  switch (type.bits) {
    case 8:
      return type.code == SY_UINT ? int64_t{static_cast<const uint8_t*>(data)[i]} : static_cast<const int8_t*>(data)[i];
    case 16:
      return type.code == SY_UINT ? int64_t{static_cast<const uint16_t*>(data)[i]}
                                  : static_cast<const int16_t*>(data)[i];
    case 32:
      return type.code == SY_UINT ? int64_t{static_cast<const uint32_t*>(data)[i]}
                                  : static_cast<const int32_t*>(data)[i];
    default:
      return static_cast<const int64_t*>(data)[i];
  }
}

}  // namespace sy::kernels
