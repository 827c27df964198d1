// List scheduling over any map of stages to devices: time is simulated with the given costs, and whenever a device is
// free it starts the first of its ready actions. What is ready, and what comes first, is decided by a few numbers,
// which make the schedules (p devices, v stages on the fullest one, stage s of n, device number d in the order of first
// stages, m micro-batches):
//
//                in flight on a stage   kept on a device                 first     split   forwards of a device
//   GPipe        all                    all                              F         no      lowest micro-batch
//   1F1B         min(n - s, m)          all                              B         no      lowest micro-batch
//   interleaved  all                    (v - 1) p + 2 (p - d - 1) + 1    F         no      in order, by groups of p
//   ZB-H1        min(n - s, m)          p x its stages                   F         yes     lowest micro-batch
//   ZBV          all                    p x its stages                   I         yes     lowest micro-batch
//
// W fills what F, B and I leave open. It, and what goes second, gives way to an action that is ready a moment later:
// `patience`, without which a stage that is a thousandth slower costs the zero-bubble schedules half of their gain.
// Sources: GPipe, Huang et al., NeurIPS 2019; 1F1B is PipeDream-Flush, Narayanan et
// al., ICML 2021; interleaved is Megatron-LM, Narayanan et al., SC 2021; ZB-H1 is Qi et al., "Zero Bubble Pipeline
// Parallelism", ICLR 2024 (arXiv 2401.10241), and ZBV is section 6 of the same paper.
//
// Hand-overs hold one tensor, or as many as `most_waiting` says: an action starts only when its device neighbour has
// begun the micro-batch before (or as many before), so that the lists run with edges of this capacity. Neither that nor
// the limit of a stage can lock: order actions by (micro-batch, F by rising stage, then B or I by falling stage, then
// W) and every action waits for smaller ones only. The limit of a device, and forwards that are taken in order, can on
// maps that they were not made for. Where nothing can go on, the device that holds up the earliest forward keeps one
// more; if there is none, hand-overs hold one more.
#pragma once

#include <cstdint>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::schedule {

struct rules {
  /// Per stage, at least 1: micro-batches between the start of F and the end of B or I. Empty: any number.
  std::vector<int64_t> most_in_flight;
  /// Per device, at least 1: micro-batches of its stages between the start of F and the end of B or W. Empty: any
  /// number.
  std::vector<int64_t> most_kept;
  /// Of what is ready, the lowest group of so many micro-batches goes first; within it forwards of the earliest stage,
  /// backwards of the latest.
  int64_t group = 1;
  bool forwards_in_order = false;       // a device waits for the next forward of that order, whatever else is ready
  bool forward_first = false;           // a ready forward goes before a ready backward
  bool backward_after_forward = false;  // a device starts no backward before its last forward has ended
  double patience = 0;                  // of an action's time: how long it waits for one that goes before it
  bool split = false;                   // I and W in place of B on stages that can
  int64_t most_waiting = 1;             // tensors of a hand-over, sent and not yet taken
};

/// What a schedule wants to know of a map of stages to devices.
struct device_map {
  std::vector<int64_t> stages;  // of each device
  std::vector<int64_t> number;  // of each device that has stages, in the order of its first one
  int64_t used = 0;             // devices that have stages
  int64_t most_stages = 0;      // on one device
};
/// SY_E_ARGUMENT: a stage lies on a device that is not there.
device_map map_of(const sy_schedule_in& in);

/// Emits F and, unless in.forward_only, B (or I and W) of every stage and micro-batch. Each stage runs its F, its B or
/// I, and its W in ascending order of micro-batches. Same input, same lists. Time grows with n log n and memory with n
/// for n = stages x micro-batches.
void list_schedule(const sy_schedule_in& in, const rules& rules);

}  // namespace sy::schedule
