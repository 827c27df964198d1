#include "plan/moments.hpp"

#include <algorithm>

#include "switchyard/schedule.h"

namespace switchyard {

uint64_t LiveActivations::during(const Action& a) {
  const StageMemory& s = per_stage_[a.stage];
  uint64_t worst = live_;
  if (a.kind == SY_ACT_F) worst = live_ + s.forward_peak, live_ += s.saved;
  if (a.kind == SY_ACT_B || a.kind == SY_ACT_I) worst = live_ - s.saved + s.backward_peak;
  if (a.kind == SY_ACT_B || a.kind == SY_ACT_W) live_ -= s.saved;
  return worst;
}

namespace {

/// Tensors that one device made for others: how many bytes of them wait at a time. Times are asked in rising order.
class Outbox {
 public:
  void add(const Span& held, uint64_t bytes) {
    changes_.push_back({held.begin, static_cast<int64_t>(bytes)});
    changes_.push_back({held.end, -static_cast<int64_t>(bytes)});
  }
  void sort() {
    std::sort(changes_.begin(), changes_.end(), [](const Change& a, const Change& b) { return a.at < b.at; });
  }
  uint64_t at(double time) {
    for (; next_ < changes_.size() && changes_[next_].at <= time; ++next_) bytes_ += changes_[next_].bytes;
    return static_cast<uint64_t>(std::max<int64_t>(0, bytes_));
  }

 private:
  struct Change {
    double at;
    int64_t bytes;
  };
  std::vector<Change> changes_;
  std::size_t next_ = 0;
  int64_t bytes_ = 0;
};

std::vector<Outbox> outboxes(const std::vector<Stage>& stages, const std::vector<Edge>& edges, const ProgramRun& run,
                             std::size_t n_devices) {
  std::vector<Outbox> all(n_devices);
  for (const Edge& e : edges)
    for (const Span& held : run.held[e.index])
      if (e.capacity > 0) all[stages[e.from].device].add(held, e.bytes);
  for (Outbox& box : all) box.sort();
  return all;
}

std::vector<Moment> moments(const std::vector<Action>& program, const std::vector<Span>& spans, double end,
                            const std::vector<StageMemory>& per_stage, Outbox& outbox) {
  std::vector<Moment> all;
  LiveActivations activations(per_stage);
  for (std::size_t i = 0; i < spans.size(); ++i) {
    all.push_back({spans[i].begin, activations.during(program[i]), outbox.at((spans[i].begin + spans[i].end) / 2)});
    const double next = i + 1 < spans.size() ? spans[i + 1].begin : end;
    if (next > spans[i].end || i + 1 == spans.size())
      all.push_back({spans[i].end, activations.live(), outbox.at((spans[i].end + next) / 2)});
  }
  return all;
}

}  // namespace

std::vector<std::vector<Moment>> moments_of(const std::vector<std::vector<Action>>& programs,
                                            const std::vector<Stage>& stages, const std::vector<StageMemory>& per_stage,
                                            const std::vector<Edge>& edges, const ProgramRun& run) {
  std::vector<Outbox> boxes = outboxes(stages, edges, run, programs.size());
  std::vector<std::vector<Moment>> all;
  for (std::size_t d = 0; d < programs.size(); ++d)
    all.push_back(moments(programs[d], run.actions[d], run.seconds, per_stage, boxes[d]));
  return all;
}

}  // namespace switchyard
