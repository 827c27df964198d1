// How many bytes a plan takes on each device.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// Everything that does not depend on the placement.
struct MemoryInput {
  const Model* model = nullptr;
  const Shapes* shapes = nullptr;  // of the largest micro-batch
  const std::vector<sy_cost>* costs = nullptr;
  int states = 0;          // optimizer states per weight
  int gradient_bytes = 4;  // per element
};

StageMemory stage_memory(const MemoryInput& in, const Stage& stage, const std::vector<int>& stage_of_layer,
                         const std::vector<bool>& recompute);

/// Weights, masters, gradients and states of each device's layers, and of the uses of tied weights in them.
std::vector<DeviceMemory> fixed_memory(const MemoryInput& in, const std::vector<int>& device_of_layer,
                                       std::size_t n_devices);

/// Saved, live and workspace bytes of a device at the worst moment of its program. `per_stage`: of all stages.
uint64_t most_activations(const std::vector<Action>& program, const std::vector<StageMemory>& per_stage,
                          const std::vector<HandedOn>& handed_on);

/// The whole account per device: it follows from the order of each device's program alone, not from who is how fast.
/// Of `layout`, everything up to stage_memory must be there.
std::vector<DeviceMemory> plan_memory(const MemoryInput& in, const Layout& layout,
                                      const std::vector<PlanDevice>& devices);

}  // namespace switchyard
