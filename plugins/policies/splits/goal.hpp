// What a policy makes small, as far as a search has to know it.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "memory_model.hpp"
#include "split.hpp"

namespace sy::place {

inline constexpr double impossible = std::numeric_limits<double>::infinity();

/// The core's judgement of a split.
struct verdict {
  split what;
  double ratio = 0;       // largest peak / budget
  std::size_t stage = 0;  // whose device that is
  bool fits = false;
  int32_t misfit_layer = -1;
  uint64_t misfit_bytes = 0;
  double step_s = 0;
  std::vector<uint64_t> peak;  // bytes per device
  uint32_t recomputed = 0;     // free layers that the core recomputes so that it fits
};

class goal {
 public:
  virtual ~goal() = default;

  /// Which of two verdicts is wanted more: a strict order, total over different splits.
  virtual bool is_better(const verdict& a, const verdict& b) const = 0;

  /// How heavy a stage is for its device; the search makes the largest of a split small. It never falls as a stage
  /// grows. `impossible`: the stage cannot lie there.
  virtual double load(int32_t first, int32_t end, int32_t device, double in_flight) const = 0;

  /// What the core is likely to say of a split, for an order of asking: smaller is more promising.
  virtual double estimate(const split& what, const in_flight& flight) const = 0;

  /// True: no judgement of this split can be better than `verdict`.
  virtual bool is_ruled_out(const split& what, const verdict& verdict) const = 0;

  /// The stage that decides: making it lighter is the way to something better.
  virtual std::size_t bottleneck(const verdict& v) const = 0;
};

/// The largest load among the stages.
inline double largest_load(const goal& goal, const split& what, const in_flight& flight, int32_t layers) {
  double largest = 0;
  for (std::size_t s = 0; s < what.stages(); ++s)
    largest = std::max(largest, goal.load(what.first[s], what.end(s, layers), what.device[s],
                                          flight_at(flight, what.stages() - 1 - s)));
  return largest;
}

}  // namespace sy::place
