// A call into NCCL that may wait for others, on a thread of its own, so that nobody waits for it for ever.
#pragma once

#include <chrono>
#include <functional>

namespace sy::nccl {

/// Runs `body`, which must own what it works with and not throw, with `device` current, and waits for it. False: it
/// still runs after `patience`, and is left to itself.
bool runs_within(std::chrono::seconds patience, int device, std::function<void()> body);

}  // namespace sy::nccl
