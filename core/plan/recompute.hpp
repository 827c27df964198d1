// Which layers to recompute, where the configuration leaves it open (train.recompute = "auto").
#pragma once

#include <vector>

#include "plan/memory.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// What is asked: `layout` with none of the `free` layers recomputed.
struct RecomputeQuestion {
  const MemoryInput* memory = nullptr;
  const std::vector<PlanDevice>* devices = nullptr;
  const Layout* layout = nullptr;
  const std::vector<bool>* free = nullptr;       // layers that may be recomputed
  const std::vector<double>* seconds = nullptr;  // that recomputing a layer adds to a micro-batch
};

/// The layout's recomputed layers and as many free ones as the budgets ask for: on each device those that add the
/// fewest seconds. Up to 12 free layers on a device every subset is considered, so that no other one is cheaper; of
/// more, those that free the most bytes for a second are taken until the device fits, then what turned out superfluous
/// is left out. A device that does not fit even so recomputes all its free layers.
///
/// Devices do not depend on each other: a stage's bytes are its own, and a step only gets longer by a longer stage.
std::vector<bool> fewest_recomputed(const RecomputeQuestion& question);

}  // namespace switchyard
