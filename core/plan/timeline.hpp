// When everything of one pass happens, as the simulation sees it.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// Seconds from the start of the pass.
struct TimedAction {
  Action action;
  double begin = 0, end = 0;
};

/// A tensor on its way from one device to another.
struct TimedTransfer {
  int edge = 0, micro_batch = 0;
  double begin = 0, end = 0;
};

/// Bytes in use on a device from `at` until the next point: what is fixed, saved and live activations, tensors in
/// flight. The largest is the device's planned peak.
struct MemoryPoint {
  double at = 0;
  uint64_t bytes = 0;
};

struct Timeline {
  std::vector<std::vector<TimedAction>> actions;  // per device, in the order of its program
  std::vector<TimedTransfer> transfers;           // per edge between devices, in the order of micro-batches
  std::vector<std::vector<MemoryPoint>> memory;   // per device, `at` never decreases
  double seconds = 0;
};

/// Runs the plan's programs once more. Time and memory grow with actions and tensors in flight.
Timeline timeline_of(const Plan& plan);

}  // namespace switchyard
