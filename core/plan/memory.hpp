// How many bytes a plan takes on each device.
#pragma once

#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// Bytes of one stage and one micro-batch, beyond weights and the like.
struct StageMemory {
  uint64_t saved = 0;          // from the end of F to B
  uint64_t forward_peak = 0;   // inside F, what it leaves saved included
  uint64_t backward_peak = 0;  // inside B, what F left saved included
};

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

/// Weights, masters, gradients and states of the layers first .. last, and of the uses of tied weights in them.
DeviceMemory fixed_memory(const MemoryInput& in, const std::vector<int>& device_of_layer, int device);

/// The whole account per device under these programs.
std::vector<DeviceMemory> plan_memory(const MemoryInput& in, const std::vector<Stage>& stages,
                                      const std::vector<int>& stage_of_layer, const std::vector<bool>& recompute,
                                      const std::vector<std::vector<Action>>& programs, const std::vector<Edge>& edges);

}  // namespace switchyard
