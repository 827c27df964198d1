// Sequences of devices, one for each stage.
#pragma once

#include <vector>

#include "device_class.hpp"
#include "goal.hpp"

namespace sy::place {

/// The `most` splits of the smallest estimates among all orders of the devices with evened-out cuts, best first;
/// nothing where there are more than 100 orders, or devices are many.
std::vector<split> best_orders(const sy_place& in, const goal& goal, const in_flight& flight,
                               const std::vector<worth>& worths, std::size_t most_stages, std::size_t most);

}  // namespace sy::place
