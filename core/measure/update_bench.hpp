// What the end of a step takes for the weights of one device.
#pragma once

#include "engine/device.hpp"
#include "plan/plan.hpp"
#include "plugin/chosen.hpp"

namespace switchyard {

/// Median seconds per element of clearing gradients, norms and optimizer step over the weights that the plan puts on
/// its device number `index`; 0: it has none. Allocates what the plan says.
double update_seconds(const Device& device, int index, const Model& model, const Plan& plan,
                      const OptimizerChoice& optimizer, sy_dtype gradients);

}  // namespace switchyard
