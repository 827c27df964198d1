// What a person should know about a plan beyond its table: warnings, notes, and why something does not fit.
#pragma once

#include "plan/plan.hpp"
#include "plan/planner.hpp"

namespace switchyard {

/// Fills plan.warnings and plan.notes: fewer micro-batches than stages, activations that return to a device (and the
/// policy that avoids it), an edge that takes longer than the stage it feeds, a device without layers, whether one
/// device would do, by how much and at what price, and what train.recompute = "auto" chose. `planner`: that drafted it.
void add_remarks(Plan& plan, const Model& model, const Planner& planner);

/// The error of a plan that is over a budget: layer, device, bytes needed, largest item.
Error misfit_error(const Config& config, const Model& model, const Plan& plan);

}  // namespace switchyard
