// What CUDA says about a GPU.
#pragma once

#include "switchyard/backend.h"

namespace sy::cuda {

/// Name, bus id, uuid, bytes, fp32 operations per second from cores and clock. Starts the device's context, without
/// which the free bytes are not known.
sy_device_info device_info(int device);

}  // namespace sy::cuda
