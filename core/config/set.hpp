// --set KEY.PATH=VALUE: changes one key of a document before anything is checked.
#pragma once

#include <string>
#include <vector>

#include "config/value.hpp"

namespace switchyard {

/// Applies the arguments ("train.steps=2") in order; a later one wins. VALUE is TOML if it parses, else a string. Parts
/// of the path may be quoted; missing tables are made. `layer.1.heads` and `layer.h.heads` name an entry of the file's
/// [[layer]] list by number from 0 or by name, before repeat is expanded; `layer.h.layer.0.heads` goes into a group.
/// Places of what was set: file "--set KEY=VALUE", no line. Throws Error(SY_E_CONFIG) that names the --set.
void apply_sets(Value& document, const std::vector<std::string>& sets);

}  // namespace switchyard
