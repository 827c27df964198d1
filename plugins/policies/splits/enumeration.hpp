// Small models: every contiguous split is looked at, so that the answer is the optimum under any schedule.
#pragma once

#include "device_class.hpp"
#include "judge.hpp"

namespace sy::place {

/// Looked at one by one are splits on at most this many devices.
inline constexpr uint32_t most_devices_enumerated = 64;

/// As many stages as there are devices and layers for, and as the question allows.
inline std::size_t most_stages_of(const sy_place& in) {
  const std::size_t most = std::min(in.n_devices, in.n_layers);
  return in.max_stages > 0 ? std::min<std::size_t>(most, in.max_stages) : most;
}

/// [k]: how many sequences of k devices there are, devices of one class being alike.
std::vector<double> count_of_orders(std::size_t most_stages, const std::vector<device_class>& classes);

/// How many splits there are (up to interchangeable devices) of `layers` layers into at most `most_stages` stages.
double count_of_splits(int32_t layers, std::size_t most_stages, const std::vector<device_class>& classes);

/// Few enough to look at one by one? Judging a split takes time that grows with the layers, and more where layers are
/// to be chosen for recomputing.
bool can_enumerate(const sy_place& in, std::size_t most_stages, const std::vector<device_class>& classes);

/// Puts every split before the judge that the goal does not rule out, the most promising first; the judge then knows
/// the best two.
void enumerate(const sy_place& in, const goal& goal, const std::vector<device_class>& classes, std::size_t most_stages,
               judge& judge);

}  // namespace sy::place
