// List scheduling over any map of stages to devices: time is simulated with the given costs, and whenever a device is
// free it starts the first of its ready actions. What is ready is decided by a few numbers, which make the schedules:
//
//              most micro-batches in flight    a device's backward begins
//   GPipe      all                             after its last forward
//   1F1B       min(stages - s, all)            at once: the lowest ready B goes before any F
//   forward    all                             never
//
// 1F1B is PipeDream-Flush (Narayanan et al., "Memory-Efficient Pipeline-Parallel DNN Training", ICML 2021), GPipe is
// Huang et al., NeurIPS 2019. The order on a device with several stages: lower micro-batches first, so that a
// micro-batch goes through all stages before much later ones enter (few are in flight, also under round robin).
//
// Hand-overs hold one tensor: an action starts only when its device neighbour has begun the micro-batch before, so that
// the lists run with edges of capacity 1. This cannot lock: order actions by (micro-batch, F by rising stage, then B by
// falling stage) and every action waits for smaller ones only.
#pragma once

#include <cstdint>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::schedule {

struct rules {
  std::vector<int64_t> most_in_flight;  // per stage, at least 1: micro-batches between the start of F and the end of B
  bool backward_after_forward = false;  // a device starts no B before its last F has ended
};

/// Emits F and, unless in.forward_only, B of every stage and micro-batch. Each stage runs its F, and its B, in
/// ascending order of micro-batches. Same input, same lists. Time and memory grow with stages x micro-batches.
void list_schedule(const sy_schedule_in& in, const rules& rules);

}  // namespace sy::schedule
