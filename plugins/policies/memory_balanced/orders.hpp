// Sequences of devices, one for each stage.
#pragma once

#include <vector>

#include "smooth.hpp"

namespace sy::place {

/// [k]: how many sequences of k devices there are, devices of one class being alike.
std::vector<double> count_of_orders(std::size_t most_stages, const std::vector<device_class>& classes);

/// The `most` splits with the smallest bottlenecks by the model, among all orders of the devices with evened-out cuts,
/// best first; nothing where there are more than 100 orders.
std::vector<split> best_orders(const sy_place& in, const memory_model& model, const judge& judge,
                               const in_flight& flight, std::size_t most_stages, std::size_t most);

}  // namespace sy::place
