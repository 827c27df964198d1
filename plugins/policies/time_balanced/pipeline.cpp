#include "pipeline.hpp"

#include <algorithm>

namespace sy::place {

// Stage s runs w = min(stages - s, m) forwards (all m under GPipe), then backwards and forwards in turn, so that
// forward k follows backward k - w, and backward k follows forward min(k + w, m) - 1. Ordered by micro-batch of the
// last stage, every action's inputs are known when it is its turn:
//
//   round k:  the forwards that reach the last stage's forward k, stage by stage, then its backward k back to the first
double pipeline_seconds(const std::vector<pipeline_stage>& stages, std::size_t micro_batches, bool all_forward_first) {
  const std::size_t n = stages.size(), m = micro_batches;
  std::vector<std::vector<double>> forward_end(n), backward_end(n);
  std::vector<double> now(n, 0);
  const auto run_forward = [&](std::size_t s) {
    const std::size_t k = forward_end[s].size();
    const double ready = s == 0 ? 0 : forward_end[s - 1][k] + stages[s - 1].hop;
    now[s] = std::max(now[s], ready) + stages[s].forward;
    forward_end[s].push_back(now[s]);
  };
  const auto run_backward = [&](std::size_t s) {
    const std::size_t k = backward_end[s].size();
    const double ready = s + 1 == n ? forward_end[s][k] : backward_end[s + 1][k] + stages[s].hop;
    now[s] = std::max(now[s], ready) + stages[s].backward;
    backward_end[s].push_back(now[s]);
  };
  for (std::size_t s = 0; s < n; ++s)
    for (std::size_t k = 0; k < (all_forward_first ? m : std::min(n - s, m)); ++k) run_forward(s);
  for (std::size_t k = 0; k < m; ++k) {
    for (std::size_t s = n; s-- > 0;) run_backward(s);
    for (std::size_t s = 0; s < n; ++s)
      if (forward_end[s].size() < m) run_forward(s);
  }
  return *std::max_element(now.begin(), now.end());
}

double rough_pipeline_seconds(const std::vector<pipeline_stage>& stages, std::size_t micro_batches) {
  double way = 0;      // one micro-batch from a stage to the last one and back
  double slowest = 0;  // seconds between two micro-batches
  for (std::size_t s = stages.size(); s-- > 0;) {
    const double busy = stages[s].forward + stages[s].backward;
    way += busy + (s + 1 < stages.size() ? 2 * stages[s].hop : 0);
    slowest = std::max({slowest, busy, way / static_cast<double>(std::min(stages.size() - s, micro_batches))});
  }
  return way + (static_cast<double>(micro_batches) - 1) * slowest;
}

}  // namespace sy::place
