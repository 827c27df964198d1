// Where a kernel of a layer runs, and what all of them have in common.
//
// A kernel is one function with a CPU twin and a CUDA twin that compute the same: sums in fp32 (fp64 for fp64 tensors)
// in an order that depends on the shapes alone, so that results repeat. Tensors are contiguous and at least 16-byte
// aligned unless said otherwise; `type` is the element type of what flows (fp64, fp32, bf16, fp16), statistics are of
// wide(type). Nothing is allocated: where a kernel needs scratch memory, a function beside it tells how much, which is
// what the hungriest twin of the build takes: costs are declared before the device is known. On CUDA everything is
// enqueued on the lane's stream of the current device. Faults: SY_E_ARGUMENT for types that a kernel has no code for,
// SY_E_DEVICE when a launch fails, SY_E_UNIMPLEMENTED on CUDA in a build without it.
#pragma once

#include "switchyard/base.h"

namespace sy::kernels {

struct lane {
  bool cuda = false;
  void* stream = nullptr;  // cudaStream_t
  /// Calls body(self, begin, end) for parts of [0, n), each of at least `grain`, on the CPU threads of the call, and
  /// returns when all are done; NULL: everything on this thread.
  void (*spread)(int64_t n, int64_t grain, void (*body)(const void* self, int64_t begin, int64_t end),
                 const void* self) = nullptr;
};

/// body(begin, end) over [0, n) on the CPU.
template <class Body>
void each(const lane& on, int64_t n, int64_t grain, const Body& body) {
  if (n <= 0) return;
  if (!on.spread || n <= grain) return body(int64_t{0}, n);
  on.spread(
      n, grain, [](const void* self, int64_t begin, int64_t end) { (*static_cast<const Body*>(self))(begin, end); },
      &body);
}

/// The type of sums and statistics.
constexpr sy_dtype wide(sy_dtype type) { return {SY_FLOAT, static_cast<uint8_t>(type.bits == 64 ? 64 : 32), 1}; }

/// A gradient that a kernel adds to, of `type` fp32, bf16 or fp64; data NULL: not wanted.
struct sum {
  void* data = nullptr;
  sy_dtype type{SY_FLOAT, 32, 1};
  explicit operator bool() const { return data != nullptr; }
};

}  // namespace sy::kernels
