#include "plan/timeline.hpp"

#include "plan/live_activations.hpp"
#include "plan/program.hpp"

namespace switchyard {

namespace {

std::vector<TimedAction> timed(const std::vector<Action>& program, const std::vector<Span>& spans) {
  std::vector<TimedAction> all;
  for (std::size_t i = 0; i < spans.size(); ++i) all.push_back({program[i], spans[i].begin, spans[i].end});
  return all;
}

/// While each action runs, and while the device waits after it.
std::vector<MemoryPoint> memory_of(uint64_t always, const std::vector<Action>& program, const std::vector<Span>& spans,
                                   const Plan& plan) {
  std::vector<MemoryPoint> points = {{0, always}};
  LiveActivations activations(plan.stage_memory, plan.handed_on);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    points.push_back({spans[i].begin, always + activations.during(program[i])});
    if (i + 1 == spans.size() || spans[i + 1].begin > spans[i].end)
      points.push_back({spans[i].end, always + activations.live()});
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
    t.memory.push_back(memory_of(plan.memory[d].fixed(), plan.train[d], run.actions[d], plan));
  }
  for (const Edge& e : plan.edges)
    for (std::size_t i = 0; e.capacity > 0 && i < run.transfers[e.index].size(); ++i)
      t.transfers.push_back(
          {e.index, static_cast<int>(i), run.transfers[e.index][i].begin, run.transfers[e.index][i].end});
  return t;
}

}  // namespace switchyard
