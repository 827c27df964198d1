// The loss over the steps, as a picture.
#pragma once

#include <span>
#include <string>

#include "report/metrics.hpp"

namespace switchyard {

/// A self-contained SVG (no scripts, no fonts to load) that follows the viewer's light or dark scheme: the training
/// loss thin, its running mean thick, the held-out loss with dots; axes, ticks, legend. Reports without a loss are left
/// out; with none at all it says so. `title` may hold any UTF-8 text.
std::string loss_svg(std::span<const Metrics> reports, const std::string& title);

}  // namespace switchyard
