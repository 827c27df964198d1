// Asks a policy plugin where layers go, and checks the answer.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "plan/layer_times.hpp"
#include "plan/plan.hpp"
#include "plugin/chosen.hpp"

namespace switchyard {

struct Placement {
  std::vector<int> stage_of_layer;
  std::vector<int> device_of_stage;
  std::vector<bool> recompute;
  bool closest = false;  // the policy found nothing that fits, and this comes closest
  bool chosen = false;  // the policy decided what is recomputed; else layers that are free to choose are up to the plan
  std::string why;
};

/// What a policy may ask about, and what it is told.
struct PlaceInput {
  const Config* config = nullptr;
  const Model* model = nullptr;
  const Shapes* shapes = nullptr;
  const std::vector<sy_cost>* costs = nullptr;
  const std::vector<PlanDevice>* devices = nullptr;
  const Links* links = nullptr;
  const LayerTimes* times = nullptr;
  std::vector<int> pins;            // device per layer, or -1
  std::vector<bool> recompute;      // as configured
  std::vector<bool> free;           // layers of which the configuration leaves it open (train.recompute = "auto")
  std::vector<DeviceMemory> fixed;  // of each layer alone: weights, gradients, states
  int micro_batches = 1;
  std::function<Layout(const Placement&)> lay_out;
};

/// Neighbouring stages on one device are merged. Throws Error(SY_E_CONFIG) naming policy and layer for an answer that
/// is not a placement; passes on the policy's own refusals.
Placement place_layers(const ChosenPolicy& policy, const PlaceInput& input);

/// Pins of placement.policy = "explicit", from the configuration's rules.
std::vector<int> explicit_pins(const Config& config, const std::vector<PlanDevice>& devices);

}  // namespace switchyard
