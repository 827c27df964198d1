// What every schedule must keep to, whether a plugin or a file gives it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// What programs are held against.
struct Task {
  const std::vector<Stage>& stages;
  int micro_batches = 1;
  const std::vector<bool>& splits;  // per stage: may it run I and W?
  bool forward_only = false;
};

/// The first action that is wrong, or that is missing.
struct ProgramFault {
  int device = 0;
  std::size_t position = 0;  // in the device's program; its length where an action is missing
  std::string text;          // "B of stage 0, micro-batch 0 comes before its F"
};

/// Every F and B (or I and W) once, on its stage's device; per stage each kind in ascending micro-batch order, B and I
/// after their F, W after its I, R between F and B; a stage runs B, or I and W where it can split, never both; nothing
/// but F where no backward is asked for. Whether devices can wait for each other forever is not looked at here: that
/// is found by choose_capacities (plan/program.hpp).
std::optional<ProgramFault> find_fault(const Task& task, const std::vector<std::vector<Action>>& programs);

}  // namespace switchyard
