// Which device a thread computes on. CUDA keeps that per thread and per process as the thread's current context; making
// a device current starts its context, so that going back must not start one on a device that nobody asked for.
#pragma once

#include <cstdint>

namespace sy::cuda {

/// Makes `device` current on this thread. The result goes to restore(); 0: it was current already.
uint64_t make_current(int device);
/// As it was. Never fails: what cannot be restored is left.
void restore(uint64_t token) noexcept;

/// A device is current while it lives.
class Current {
 public:
  explicit Current(int device) : token_(make_current(device)) {}
  ~Current() { restore(token_); }
  Current(const Current&) = delete;
  Current& operator=(const Current&) = delete;

 private:
  uint64_t token_;
};

}  // namespace sy::cuda
