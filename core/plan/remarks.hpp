// What a person should know about a plan beyond its table: warnings, notes, and why something does not fit.
#pragma once

#include <functional>

#include "place/place.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// Fills plan.warnings and plan.notes: fewer micro-batches than stages, activations that return to a device (and the
/// policy that avoids it), an edge that takes longer than the stage it feeds, a device without layers, and whether one
/// device would do, by how much and at what price.
void add_remarks(Plan& plan, const Model& model, const std::function<Layout()>& on_one_device);

/// The error of a plan that is over a budget: layer, device, bytes needed, largest item, what to change.
Error misfit_error(const Config& config, const Model& model, const Plan& plan, int layer);

}  // namespace switchyard
