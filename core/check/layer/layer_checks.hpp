// The checks of a layer, each of which throws Fault or Skip; see finding.hpp.
#pragma once

#include "check/finding.hpp"
#include "check/layer_case.hpp"
#include "check/surroundings.hpp"

namespace switchyard::checks {

void check_layer_shapes(const LayerCase& what);
void check_layer_parameters(const LayerCase& what);
void check_layer_weights(const LayerCase& what);  // bytes and state beyond what was declared
void check_layer_costs(const LayerCase& what);
void check_layer_gradients(const LayerCase& what);
void check_layer_split(const LayerCase& what);
void check_layer_replay(const LayerCase& what);
void check_layer_repeats(const LayerCase& what);
void check_layer_addresses(const LayerCase& what);
void check_layer_read_only(const LayerCase& what);
void check_layer_empty(const LayerCase& what);
void check_layer_odd_shapes(const LayerCase& what);
void check_layer_precision(const LayerCase& what, sy_dtype type);
void check_layer_save(const LayerCase& what);
void check_layer_options(const LayerCase& what);
/// `before`: taken before the layer was first called.
void check_layer_surroundings(const LayerCase& what, const Surroundings& before);

/// All of them, in the order in which an author can use what they say.
void check_layer(const sy_layer_api& api, const Request& request, Subject& subject, const Listener& listener);

}  // namespace switchyard::checks
