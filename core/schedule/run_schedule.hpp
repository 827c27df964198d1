// Asks a schedule plugin for programs.
#pragma once

#include <vector>

#include "plan/plan.hpp"
#include "switchyard/schedule.h"

namespace switchyard {

/// Each device's list of actions as the plugin emits it. Throws Error: what the plugin refuses, or a device that is not there.
std::vector<std::vector<Action>> ask_schedule(const sy_schedule_api& api, sy_schedule* schedule,
                                              const std::vector<Stage>& stages, int n_devices, int micro_batches,
                                              const std::vector<StageTimes>& times, const std::vector<bool>& splits,
                                              bool forward_only);

/// Each device's list of actions, checked by find_fault. Throws Error(SY_E_CONFIG) naming device, position and action.
std::vector<std::vector<Action>> run_schedule(const sy_schedule_api& api, sy_schedule* schedule,
                                              const std::vector<Stage>& stages, int n_devices, int micro_batches,
                                              const std::vector<StageTimes>& times, const std::vector<bool>& splits,
                                              bool forward_only);

}  // namespace switchyard
