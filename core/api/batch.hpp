// Batches of the caller's: views of host memory, copied into the form that the engine takes.
#pragma once

#include "data/host_tensor.hpp"
#include "data/source.hpp"
#include "switchyard/base.h"

namespace switchyard::api {

/// A dense copy as `wanted`: whole numbers of any width become ids, any float type and whole numbers become fp32.
/// `what` begins the messages. Errors: SY_E_ARGUMENT for a view that is none (not on the host, no samples dimension, an
/// unknown type), SY_E_DATA for numbers where ids are wanted.
HostTensor host_tensor(const sy_view* view, sy_dtype wanted, const char* what);

}  // namespace switchyard::api
