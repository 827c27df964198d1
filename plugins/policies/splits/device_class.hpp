// Devices that are alike need not be told apart by a search.
#pragma once

#include <cstdint>
#include <vector>

#include "switchyard/cpp/plugin.hpp"

namespace sy::place {

/// What makes a device worth more than another: the first number counts first, larger is better.
using worth = std::vector<double>;

struct device_class {
  std::vector<int32_t> devices;  // ascending index
  int32_t poorest = 0;           // the one that a search may take all others for
};

/// Devices of equal worth whose links to all others are equal too: any two may change places. Those that some layer is
/// fixed to stand alone.
std::vector<device_class> exact_classes(const sy_place& in, const std::vector<worth>& worths);

/// Devices of about the same worth, the best class first: what differs little counts as one, more and more until the
/// product of (devices + 1) over all classes is at most `most`. SY_E_CONFIG: devices with fixed layers are too many.
std::vector<device_class> coarse_classes(const sy_place& in, const std::vector<worth>& worths, double most);

}  // namespace sy::place
