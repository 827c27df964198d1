// plan --measure: layers, updates and hand-overs, timed on the devices of a plan.
//
//   a thread for each device   layer 1 ▮▮▮▮▮ │ layer 2 ▮▮▮ │ ...   logical devices of one processor work at the same
//                              layer 1 ▮▮▮▮▮ │ layer 2 ▮▮▮ │ ...   time, as in a pipeline: they share its memory
#pragma once

#include "plan/measured.hpp"
#include "plan/plan.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

/// Adds to `costs` what the plan's layers, devices and edges take: each distinct layer on each distinct device with
/// micro-batches of each of these `sizes` (samples), medians after a warm-up. Allocates one layer at a time, then what
/// the plan puts on a device for the update. Throws Error(SY_E_CONFIG) for devices that are not here; passes on
/// failures of layers with their names.
void measure_costs(const Config& config, Registry& registry, const Model& model, const Plan& plan,
                   const std::vector<int64_t>& sizes, MeasuredCosts& costs);

/// The same, added to CONFIG.costs.json. [ctl]
void measure_into_file(const Config& config, Registry& registry, const Model& model, const Plan& plan,
                       const std::vector<int64_t>& sizes);

}  // namespace switchyard
