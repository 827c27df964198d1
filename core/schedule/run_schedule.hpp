// Asks a schedule plugin for programs.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "switchyard/schedule.h"

namespace switchyard {

/// Each device's list of actions, checked by find_fault. Throws Error(SY_E_CONFIG) naming device, position and action.
std::vector<std::vector<Action>> run_schedule(const sy_schedule_api& api, sy_schedule* schedule,
                                              const std::vector<Stage>& stages, int n_devices, int micro_batches,
                                              const std::vector<StageTimes>& times, const std::vector<bool>& splits,
                                              bool forward_only);

}  // namespace switchyard
