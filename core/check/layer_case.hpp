// Finds options and inputs that a layer takes.
#pragma once

#include <string>
#include <vector>

#include "check/layer_trial.hpp"
#include "check/request.hpp"
#include "config/schema.hpp"

namespace switchyard::checks {

/// The first of some options and inputs with which a forward and a backward succeed. Throws Fault with the last
/// refusal.
LayerCase find_case(const sy_layer_api& api, const Request& request);
/// "out = 8, inputs 4x8 fp32"
std::string case_text(const LayerCase& found);

/// Values that an option may have, the default not among them; at most a few. Empty: none can be made up.
std::vector<Value> alternatives(const OptionSpec& option);
/// A value for an option that must be given, the n-th guess.
Value guess(const OptionSpec& option, std::size_t n);
inline constexpr std::size_t guesses = 6;

}  // namespace switchyard::checks
