// The lane of a call, for layers of LibTorch tensors.
#pragma once

#include <ATen/Parallel.h>

#include "lane.hpp"
#include "switchyard/layer.h"

namespace sy::kernels {

/// The call must be running (in_call): its threads are LibTorch's.
inline lane lane_of(const sy_call& call) {
  return {call.device.type == SY_DEVICE_CUDA, call.native_stream,
          [](int64_t n, int64_t grain, void (*body)(const void*, int64_t, int64_t), const void* self) {
            at::parallel_for(0, n, grain, [&](int64_t begin, int64_t end) { body(self, begin, end); });
          }};
}

}  // namespace sy::kernels
