// Copies between views of equal shape and type with any strides, on any device or the host.
#pragma once

#include "backend.hpp"

namespace sy::cuda {

/// Enqueued on `stream`; waits only where something goes through a block that does not outlive the call: strided host
/// memory, strided memory of another device, and devices that cannot copy to each other.
/// Host memory must stay until the stream has done the copy; elements of `to` must not share an address.
void copy(sy_backend& backend, const sy_view& to, const sy_view& from, const sy_stream& stream);

}  // namespace sy::cuda
