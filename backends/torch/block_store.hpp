// Memory of freed CPU tensors, kept for the next ones of exactly the same size: what the system hands out anew costs a
// page fault for every 4 KiB that is touched first.
//
// Nothing here is charged. At most as many bytes wait as were ever in use at one time, the longest waiting ones go
// first; while no layer lives, none wait.
#pragma once

#include <cstddef>
#include <cstdint>

namespace sy {

/// 256-byte aligned; of at least `kept_from` bytes from those that wait. NULL: the system has no more, and none wait.
/// [any thread]
void* take_memory(std::size_t bytes);
/// Takes memory of take_memory(bytes).
void give_memory_back(void* memory, std::size_t bytes);

constexpr std::size_t kept_from = 16 << 10;

}  // namespace sy
