// DLPack 1.x as this library writes and reads it. Private: headers of that name come in incompatible ages.
// Layout: https://github.com/dmlc/dlpack, include/dlpack/dlpack.h, versions 1.0 and later.
#pragma once

#include <cstddef>
#include <cstdint>

#include "switchyard/base.h"

struct DLManagedTensorVersioned {
  struct {
    uint32_t major, minor;
  } version;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned* self);
  uint64_t flags;
  sy_view dl_tensor;
};

namespace switchyard::dlpack {

inline constexpr uint32_t major = 1, minor = 0;
inline constexpr uint64_t read_only = 1;

static_assert(sizeof(sy_view) == 48 && offsetof(sy_view, byte_offset) == 40);
static_assert(offsetof(DLManagedTensorVersioned, deleter) == 16 && offsetof(DLManagedTensorVersioned, dl_tensor) == 32);

}  // namespace switchyard::dlpack
