// What was measured takes the place of what is assumed.
#pragma once

#include "plan/layer_times.hpp"
#include "plan/measured.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// Gives a plan's devices, links and layer times the measured figures. A kind of device counts as measured when every
/// layer was timed on it with these options, shapes and types; one that was timed in part is named in the plan's notes,
/// and its figures are left alone. Bytes of layers (`costs`) become the measured ones, the larger where kinds differ.
void use_measured(const Config& config, const MeasuredCosts& measured, const Model& model, const Shapes& shapes,
                  Plan& plan, LayerTimes& times, std::vector<sy_cost>& costs);

/// Seconds per element that an update takes at the speed of a device's memory; 0: that is unknown.
double update_seconds_by_memory(const PlanDevice& device, int states, int gradient_bytes, bool copied);

}  // namespace switchyard
