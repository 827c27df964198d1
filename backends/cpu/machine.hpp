// What the machine says about its processor and memory.
#pragma once

#include <cstdint>
#include <string>

namespace sy::cpu {

struct memory {
  uint64_t total = 0;  // bytes; 0: unknown
  uint64_t free = 0;   // bytes that can be taken without swapping
  uint64_t swap = 0;   // bytes beyond total
};

/// The maker's name of the processor from /proc/cpuinfo, else the machine's architecture.
std::string processor_name();
/// From /proc/meminfo (MemTotal, MemAvailable, SwapTotal).
memory machine_memory();

}  // namespace sy::cpu
