// Programs of devices, run without devices to find times, deadlocks and the capacities of edges.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// All edges of a placement. `shapes` are those of the largest micro-batch.
std::vector<Edge> find_edges(const Model& model, const Shapes& shapes, const std::vector<Stage>& stages,
                             const std::vector<int>& stage_of_layer, bool backward);

/// When an action, or a tensor on its way, began and ended, in seconds from the start of the pass.
struct Span {
  double begin = 0, end = 0;
};

/// What a run of the programs gave.
struct ProgramRun {
  double seconds = 0;
  std::vector<double> busy;                  // per device
  std::vector<std::vector<Span>> actions;    // per device, per action: from its last input to the end of computing
  std::vector<std::vector<Span>> transfers;  // per edge, per micro-batch: on its way
  std::string deadlock;                      // empty, or who waits for what
};

/// Runs programs as the engine will: an action takes all its inputs first, computes, then sends all its outputs,
/// waiting for room on each edge. A tensor travels for Edge::seconds.
ProgramRun run_programs(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                        const std::vector<Edge>& edges, const std::vector<StageTimes>& times);

/// Who waits for what where sends and receives block and nothing is buffered between them; empty: the programs end even
/// so. Processes that talk like this must pair their sends and receives, or buffer Edge::capacity tensors.
std::string blocking_deadlock(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                              const std::vector<Edge>& edges);

/// The smallest capacities from 1 (neighbours) and the distance in stages (skips) on under which the programs end.
/// Throws Error(SY_E_CONFIG) with who waits for what when none do.
void choose_capacities(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                       std::vector<Edge>& edges, int micro_batches);

}  // namespace switchyard
