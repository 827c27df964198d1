#include "plan/live_activations.hpp"

#include "switchyard/schedule.h"

namespace switchyard {

std::vector<HandedOn> find_handed_on(const std::vector<Stage>& stages, const std::vector<Edge>& edges) {
  std::vector<HandedOn> all(stages.size());
  for (const Edge& e : edges) {
    if (e.capacity > 0) continue;
    all[e.from].out[e.backward] += e.bytes;
    all[e.to].in[e.backward] += e.bytes;
  }
  return all;
}

uint64_t LiveActivations::during(const Action& a) {
  const StageMemory& s = per_stage_[a.stage];
  const HandedOn& handed_on = handed_on_[a.stage];
  const bool forward = a.kind == SY_ACT_F, input = a.kind == SY_ACT_B || a.kind == SY_ACT_I;
  if (forward || input) live_ -= handed_on.in[input];  // the peak of the action counts them
  uint64_t worst = live_;
  if (forward) worst = live_ + s.forward_peak, live_ += s.saved;
  if (input) {
    live_ -= s.saved;
    worst = live_ + (a.kind == SY_ACT_I ? s.input_peak : s.backward_peak);
    if (a.kind == SY_ACT_I) live_ += s.held;
  }
  if (a.kind == SY_ACT_W) live_ -= s.held;
  if (forward || input) live_ += handed_on.out[input];
  return worst;
}

}  // namespace switchyard
