// The list of layers after `repeat` and groups are expanded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

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
  int entry = 0;  // counts the entries with a type in the order of the file, from 0; equal for copies of one entry
  Place place;    // of the entry
  Place type_place, init_place;     // of the entry where they are defaults
  std::vector<std::string> groups;  // names of the group copies around it, outermost first: "h.3"
};

/// "layer 4 'h.3' (gpt_block)"
std::string describe_layer(const LayerEntry& layer);

/// Expands the value of the key `layer`. Mistakes are added to `errors`, each once, however often an entry repeats; the
/// result is then empty. `list` becomes the list with the defaults filled in, before expansion.
std::vector<LayerEntry> expand_layers(Value& list, ErrorList& errors);

/// Checks the options of a layer against what its type publishes. Messages begin with describe_layer.
Options check_layer_options(const LayerEntry& layer, const std::vector<OptionSpec>& specs, ErrorList& errors);

}  // namespace switchyard
