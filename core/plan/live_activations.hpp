// What a device holds while a pass goes on, beyond weights and the like.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// Per stage, what waits between the stages of one device.
std::vector<HandedOn> find_handed_on(const std::vector<Stage>& stages, const std::vector<Edge>& edges);

/// Activations of a device, action after action.
class LiveActivations {
 public:
  /// Both hold an entry for each stage, and are lent.
  LiveActivations(const std::vector<StageMemory>& per_stage, const std::vector<HandedOn>& handed_on)
      : per_stage_(per_stage), handed_on_(handed_on) {}
  /// Bytes at the worst point of the next action of the program.
  uint64_t during(const Action& action);
  /// Bytes that wait for later actions.
  uint64_t live() const { return live_; }

 private:
  const std::vector<StageMemory>& per_stage_;
  const std::vector<HandedOn>& handed_on_;
  uint64_t live_ = 0;
};

}  // namespace switchyard
