#include "plan/timeline.hpp"

#include "plan/program.hpp"

namespace switchyard {

namespace {

std::vector<TimedAction> timed(const std::vector<Action>& program, const std::vector<Span>& spans) {
  std::vector<TimedAction> all;
  for (std::size_t i = 0; i < spans.size(); ++i) all.push_back({program[i], spans[i].begin, spans[i].end});
  return all;
}

/// The same account as plan_memory(), over time.
std::vector<MemoryPoint> memory_of(const Plan& plan, std::size_t device, const std::vector<TimedAction>& actions) {
  const DeviceMemory& m = plan.memory[device];
  const uint64_t always = m.fixed() + m.in_flight;
  uint64_t live = 0;
  std::vector<MemoryPoint> points = {{0, always}};
  for (const TimedAction& a : actions) {
    const StageMemory& s = plan.stage_memory[a.action.stage];
    const bool forward = a.action.kind == SY_ACT_F, frees = a.action.kind == SY_ACT_B || a.action.kind == SY_ACT_W;
    if (!forward && !frees) continue;
    points.push_back({a.begin, always + (forward ? live + s.forward_peak : live - s.saved + s.backward_peak)});
    live = forward ? live + s.saved : live - s.saved;
    points.push_back({a.end, always + live});
  }
  return points;
}

}  // namespace

Timeline timeline_of(const Plan& plan) {
  const ProgramRun run = run_programs(plan.train, plan.stages, plan.edges, plan.times);
  Timeline t;
  t.seconds = run.seconds;
  for (std::size_t d = 0; d < plan.train.size(); ++d) {
    t.actions.push_back(timed(plan.train[d], run.actions[d]));
    t.memory.push_back(memory_of(plan, d, t.actions[d]));
  }
  for (const Edge& e : plan.edges)
    for (std::size_t i = 0; e.capacity > 0 && i < run.transfers[e.index].size(); ++i)
      t.transfers.push_back(
          {e.index, static_cast<int>(i), run.transfers[e.index][i].begin, run.transfers[e.index][i].end});
  return t;
}

}  // namespace switchyard
