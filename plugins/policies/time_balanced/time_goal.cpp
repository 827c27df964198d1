#include "time_goal.hpp"

#include <algorithm>

#include "pipeline.hpp"

namespace sy::place {

/// Times a share above 1: loads of stages that do not fit.
static constexpr double over_budget = 1e12;

bool time_goal::is_better(const verdict& a, const verdict& b) const {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits && a.ratio != b.ratio) return a.ratio < b.ratio;
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  if (a.what.stages() != b.what.stages()) return a.what.stages() < b.what.stages();
  if (a.ratio != b.ratio) return a.ratio < b.ratio;
  return a.what < b.what;
}

double time_goal::load(int32_t first, int32_t end, int32_t device, double in_flight) const {
  if (!pins_.allow(first, end, device)) return impossible;
  const double seconds = time_.seconds(first, end, device);
  if (in_.devices[device]->budget == UINT64_MAX) return seconds;
  const double budget = static_cast<double>(std::max<uint64_t>(in_.devices[device]->budget, 1));
  const double bytes = memory_.bytes(first, end, in_flight);
  if (bytes <= budget) return seconds;
  const double least = least_.bytes(first, end, in_flight);
  if (least > budget) return over_budget * least / budget;
  return seconds + time_.recompute_seconds(first, end, device) * (bytes - budget) / (bytes - least);
}

double time_goal::estimate(const split& what, const in_flight& flight) const {
  std::vector<pipeline_stage> stages;
  for (std::size_t s = 0; s < what.stages(); ++s) {
    const int32_t first = what.first[s], end = what.end(s, time_.layers()), device = what.device[s];
    const double load = this->load(first, end, device, flight_at(flight, what.stages() - 1 - s));
    if (load >= over_budget) return largest_load(*this, what, flight, time_.layers());
    const double forward = time_.forward_seconds(first, end, device);
    const double hop = s + 1 < what.stages() ? time_.hop(end, device, what.device[s + 1]) : 0;
    stages.push_back({forward, load - forward, hop});
  }
  const uint32_t micro_batches = time_.micro_batches();
  const bool all_forward_first = micro_batches > 1 && flight_at(flight, 0) > (1.0 + micro_batches) / 2;
  return stages.size() * micro_batches <= 512 ? pipeline_seconds(stages, micro_batches, all_forward_first)
                                              : rough_pipeline_seconds(stages, micro_batches);
}

bool time_goal::is_ruled_out(const split& what, const verdict& verdict) const {
  double slowest = 0;
  bool fits = true;
  for (std::size_t s = 0; s < what.stages(); ++s) {
    slowest = std::max(slowest, seconds(what, s));
    const uint64_t budget = in_.devices[what.device[s]]->budget;
    fits = fits && (budget == UINT64_MAX ||
                    memory_.at_least(what.first[s], what.end(s, time_.layers())) <= static_cast<double>(budget));
  }
  if (!verdict.fits) return false;
  return !fits || passes_ * time_.micro_batches() * slowest * (1 - 1e-9) > verdict.step_s;
}

std::size_t time_goal::bottleneck(const verdict& v) const {
  if (!v.fits) return v.stage;
  std::size_t slowest = 0;
  for (std::size_t s = 1; s < v.what.stages(); ++s)
    if (seconds(v.what, s) > seconds(v.what, slowest)) slowest = s;
  return slowest;
}

void time_goal::calibrate(const split& one_stage, double step_s) {
  const double pass = time_.micro_batches() * seconds(one_stage, 0);
  if (pass > 0 && step_s >= pass * (1 - 1e-9)) passes_ = step_s / pass;
}

}  // namespace sy::place
