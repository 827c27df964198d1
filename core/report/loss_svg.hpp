// The loss over the steps, as a picture.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "report/metrics.hpp"

namespace switchyard {

/// A self-contained SVG (no scripts, no fonts to load) that follows the viewer's light or dark scheme: the training
/// loss thin, its running mean thick, the held-out loss with dots; axes, ticks, legend. Reports without a loss are left
/// out; with none at all it says so. `title` may hold any UTF-8 text.
std::string loss_svg(std::span<const Metrics> reports, const std::string& title);

/// Tick values of an axis: multiples of 1, 2 or 5 times a power of ten inside [low, high], about `wanted` of them.
std::vector<double> axis_ticks(double low, double high, int wanted);

}  // namespace switchyard
