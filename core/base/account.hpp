// Memory accounts: who holds how many bytes on which device, against which budget. Every byte of the core's storage and
// of plugins' own tensors is charged to one account.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <string>

#include "switchyard/base.h"

namespace switchyard {

inline constexpr uint64_t no_budget = std::numeric_limits<uint64_t>::max();

}  // namespace switchyard

/// One device of one runtime. Never freed: a tensor may outlive its runtime. [any]
struct sy_origin {
  std::string device;                       // "cpu:0"
  uint64_t budget = switchyard::no_budget;  // bytes
  std::atomic<int64_t> live{0};
  std::atomic<int64_t> peak{0};
  std::atomic<int64_t> refused{0};          // bytes of the last charge that was over the budget
  std::atomic<int64_t> live_at_refusal{0};  // bytes held then

  /// Charges or returns bytes; false: over the budget, nothing was charged.
  bool charge(int64_t bytes);
  /// Forgets the peak seen so far.
  void restart_peak() { peak.store(live.load()); }
};

namespace switchyard {

/// A new account that lives as long as the process.
sy_origin* make_account(const std::string& device, uint64_t budget);

}  // namespace switchyard
