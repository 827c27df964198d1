// What a device holds while a pass goes on, beyond weights and the like.
#pragma once

#include <vector>

#include "plan/program.hpp"

namespace switchyard {

/// Activations of a device, action after action.
class LiveActivations {
 public:
  /// `per_stage` is lent.
  explicit LiveActivations(const std::vector<StageMemory>& per_stage) : per_stage_(per_stage) {}
  /// Bytes at the worst point of the next action of the program.
  uint64_t during(const Action& action);
  /// Bytes that wait for later actions.
  uint64_t live() const { return live_; }

 private:
  const std::vector<StageMemory>& per_stage_;
  uint64_t live_ = 0;
};

/// From `begin` until the next moment's. Seconds from the start of the pass; bytes.
struct Moment {
  double begin = 0;
  uint64_t activations =
      0;                   // saved, live and workspace at the worst point of the action, or what waits for the next one
  uint64_t in_flight = 0;  // made here and not yet taken by another device, in the middle of the time
};

/// Per device, in the order of time: each action, and each wait after one. `run` is one of these programs.
std::vector<std::vector<Moment>> moments_of(const std::vector<std::vector<Action>>& programs,
                                            const std::vector<Stage>& stages, const std::vector<StageMemory>& per_stage,
                                            const std::vector<Edge>& edges, const ProgramRun& run);

}  // namespace switchyard
