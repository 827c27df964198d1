#include "plan/timeline.hpp"

#include "plan/moments.hpp"
#include "plan/program.hpp"

namespace switchyard {

namespace {

std::vector<TimedAction> timed(const std::vector<Action>& program, const std::vector<Span>& spans) {
  std::vector<TimedAction> all;
  for (std::size_t i = 0; i < spans.size(); ++i) all.push_back({program[i], spans[i].begin, spans[i].end});
  return all;
}

std::vector<MemoryPoint> memory_of(uint64_t always, const std::vector<Moment>& moments) {
  std::vector<MemoryPoint> points = {{0, always}};
  for (const Moment& m : moments) points.push_back({m.begin, always + m.activations + m.in_flight});
  return points;
}

}  // namespace

Timeline timeline_of(const Plan& plan) {
  const ProgramRun run = run_programs(plan.train, plan.stages, plan.edges, plan.times);
  const auto moments = moments_of(plan.train, plan.stages, plan.stage_memory, plan.edges, run);
  Timeline t;
  t.seconds = run.seconds;
  for (std::size_t d = 0; d < plan.train.size(); ++d) {
    t.actions.push_back(timed(plan.train[d], run.actions[d]));
    t.memory.push_back(memory_of(plan.memory[d].fixed(), moments[d]));
  }
  for (const Edge& e : plan.edges)
    for (std::size_t i = 0; e.capacity > 0 && i < run.transfers[e.index].size(); ++i)
      t.transfers.push_back(
          {e.index, static_cast<int>(i), run.transfers[e.index][i].begin, run.transfers[e.index][i].end});
  return t;
}

}  // namespace switchyard
