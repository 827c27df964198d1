// How names and patterns find layers.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/layers.hpp"
#include "config/pattern.hpp"

namespace switchyard {

/// Index of the layer with this name; a group copy's name ("h.17") stands for its first part. -1: none.
int find_layer(const std::vector<LayerEntry>& layers, const std::string& name);
/// The same, but throws Error(SY_E_CONFIG) at `place` with the nearest name. `what` begins the text.
int require_layer(const std::vector<LayerEntry>& layers, const std::string& name, const Place& place,
                  const std::string& what);

/// Whether the pattern names the layer, a group copy around it, or (`type:...`) its type.
bool matches_layer(const Pattern& pattern, const LayerEntry& layer);
/// Ascending indices. Throws Error(SY_E_CONFIG) at the pattern's place when nothing matches. `what` begins the text.
std::vector<int> match_layers(const std::vector<LayerEntry>& layers, const Pattern& pattern, const std::string& what);
/// The union over several patterns: for each layer whether one of them names it. Every one that matches nothing is
/// added to `errors`.
std::vector<bool> match_any(const std::vector<LayerEntry>& layers, const std::vector<Pattern>& patterns,
                            const std::string& what, ErrorList& errors);

/// For each layer the number of the rule that holds for it, -1 where none does. An exact layer name beats the name of a
/// group copy (the innermost wins), which beats a pattern. Patterns that match nothing, and pairs of rules of equal
/// rank that name one layer and for which same(a, b) is false, are added to `errors`; the text names both patterns.
std::vector<int> choose_rules(const std::vector<LayerEntry>& layers, const std::vector<Pattern>& patterns,
                              const std::function<bool(int, int)>& same, const std::string& what, ErrorList& errors);

}  // namespace switchyard
