// The list of layers after `repeat` and groups are expanded, and how names and patterns find them.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/pattern.hpp"
#include "config/schema.hpp"
#include "config/value.hpp"

namespace switchyard {

/// One input of a layer: an output of an earlier layer, or a tensor of the batch.
struct LayerInput {
  int layer = -1;     // index of the layer; -1: the batch
  int output = 0;     // which output of it
  std::string batch;  // name of the batch's tensor ("inputs") when layer is -1
  Place place;        // of the text; of the layer when it is the default
};

struct LayerEntry {
  int index = 0;
  std::string name;  // full: "h.3.attn"
  std::string type;
  bool trainable = true;
  std::string init = "default";
  std::vector<LayerInput> inputs;  // at least one
  bool inputs_given = false;       // false: the layer before, or batch.inputs for the first
  /// The keys that belong to the layer's type, unchecked. Copies of one entry share it: check it once per `entry`.
  std::shared_ptr<const Value> options;
  int entry = 0;  // number of the [[layer]] entry (parts of groups count on their own) it came from
  Place place;    // of the entry
  Place type_place, init_place;
  std::vector<std::string> groups;  // names of the group copies around it, outermost first: "h.3"
};

/// "layer 4 'h.3' (gpt_block)"
std::string describe_layer(const LayerEntry& layer);

/// Expands the value of the key `layer`. Mistakes are added to `errors`, each once, however often an entry repeats.
std::vector<LayerEntry> expand_layers(const Value& list, ErrorList& errors);

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
/// added.
std::vector<bool> match_any(const std::vector<LayerEntry>& layers, const std::vector<Pattern>& patterns,
                            const std::string& what, ErrorList& errors);

/// For each layer the number of the rule that holds for it, -1 where none does. An exact layer name beats the name of a
/// group copy (the innermost wins), which beats a pattern. Patterns that match nothing, and pairs of rules of equal
/// rank that name one layer and for which same(a, b) is false, are added to `errors`; both patterns are named.
std::vector<int> choose_rules(const std::vector<LayerEntry>& layers, const std::vector<Pattern>& patterns,
                              const std::function<bool(int, int)>& same, const std::string& what, ErrorList& errors);

}  // namespace switchyard
