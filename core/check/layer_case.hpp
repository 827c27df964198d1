// Finds options and inputs that a layer takes.
#pragma once

#include <string>
#include <vector>

#include "check/layer_trial.hpp"
#include "check/options_used.hpp"
#include "check/request.hpp"

namespace switchyard::checks {

/// The first of some options and inputs with which a forward and a backward succeed. Throws Fault with the last
/// refusal.
LayerCase find_case(const sy_layer_api& api, const Request& request);
/// "out = 8, inputs 4x8 fp32"
std::string case_text(const LayerCase& found);

}  // namespace switchyard::checks
