// Seconds that work on a device takes.
#pragma once

#include <functional>
#include <vector>

#include "engine/device.hpp"

namespace switchyard {

/// From the beginning to the end of what `work` does or enqueues: by events in the device's stream where it is
/// asynchronous, else by the clock.
double seconds_of(const Device& device, const std::function<void()>& work);

double median(std::vector<double> values);

}  // namespace switchyard
