#include "config/layers.hpp"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

#include "config/layer_entries.hpp"
#include "config/nearest.hpp"

namespace switchyard {
namespace {

constexpr std::size_t most_layers = 100000;
constexpr int most_outputs = 4096;

/// Where a list of entries is being expanded: the file itself, or one copy of a group.
///
///   [[layer]] "stem"      scope ""      : stem
///   [[layer]] group "h"   scope "h.0."  : h.0.attn, h.0.mlp      in = stem
///                         scope "h.1."  : h.1.attn, h.1.mlp      in = h.0.mlp
struct Scope {
  std::string prefix;                  // "h.3."
  std::vector<LayerInput> in;          // what enters the copy; empty for the file
  LayerInput previous;                 // the layer before, or what enters
  std::map<std::string, int> unnamed;  // type -> how many unnamed ones so far
};

class Expansion {
 public:
  explicit Expansion(ErrorList& errors) : errors_(errors) {}

  void run(const std::vector<LayerDefinition>& definitions) {
    Scope file;
    file.previous.batch = "inputs";
    scopes_.push_back(std::move(file));
    list(definitions);
  }

  std::vector<LayerEntry> layers;
  bool failed = false;

 private:
  void list(const std::vector<LayerDefinition>& definitions) {
    for (const LayerDefinition& definition : definitions) {
      if (layers.size() > most_layers) return;
      siblings_.push_back(&definitions);
      copies(definition);
      siblings_.pop_back();
    }
  }

  void copies(const LayerDefinition& definition) {
    std::int64_t count = definition.repeat.value_or(1);
    std::vector<LayerInput> inputs = given_inputs(definition);
    for (std::int64_t copy = 0; copy < count; ++copy) {
      // Later copies are chained: each takes the one before where the first took its first input.
      if (inputs.empty()) inputs.push_back(scopes_.back().previous);
      if (copy > 0) inputs[0] = scopes_.back().previous;
      std::string name = scopes_.back().prefix + local_name(definition, copy);
      if (definition.is_group())
        group(definition, name, inputs);
      else
        layer(definition, name, inputs);
      if (layers.size() > most_layers) return too_many(definition);
    }
  }

  void too_many(const LayerDefinition& definition) {
    fail_once(&definition, definition.place, "more than " + std::to_string(most_layers) + " layers");
  }

  std::string local_name(const LayerDefinition& definition, std::int64_t copy) {
    if (!definition.name) {
      std::string type = definition.is_group() ? "group" : definition.type;
      return type + "." + std::to_string(scopes_.back().unnamed[type]++);
    }
    return definition.repeat ? *definition.name + "." + std::to_string(copy) : *definition.name;
  }

  void layer(const LayerDefinition& definition, const std::string& name, const std::vector<LayerInput>& inputs) {
    LayerEntry entry;
    entry.index = static_cast<int>(layers.size());
    entry.name = name;
    entry.type = definition.type;
    entry.trainable = definition.trainable;
    entry.init = definition.init;
    entry.inputs = inputs;
    entry.inputs_given = !definition.inputs.empty();
    entry.options = definition.options;
    entry.entry = definition.entry;
    entry.place = definition.place;
    entry.type_place = definition.type_place;
    entry.init_place = definition.init_place;
    entry.groups = open_groups_;
    for (LayerInput& input : entry.inputs)
      if (input.place.file.empty()) input.place = definition.place;
    claim(definition, name, entry.index);
    layers.push_back(std::move(entry));
    scopes_.back().previous = {layers.back().index, 0, "", {}};
  }

  void group(const LayerDefinition& definition, const std::string& name, const std::vector<LayerInput>& inputs) {
    Scope copy;
    copy.prefix = name + ".";
    copy.in = inputs;
    copy.previous = inputs[0];
    scopes_.push_back(std::move(copy));
    open_groups_.push_back(name);
    list(definition.parts);
    open_groups_.pop_back();
    LayerInput out = scopes_.back().previous;
    scopes_.pop_back();
    claim(definition, name, out.layer);
    scopes_.back().previous = out;
  }

  /// Makes a name known; what it gives as an input is the output of that layer.
  void claim(const LayerDefinition& definition, const std::string& name, int output_layer) {
    if (!names_.emplace(name, output_layer).second)
      fail_once(&definition.name_place, definition.name ? definition.name_place : definition.place,
                "two layers are called '" + name + "'; give one of them another name");
  }

  std::vector<LayerInput> given_inputs(const LayerDefinition& definition) {
    std::vector<LayerInput> inputs;
    for (const Value& text : definition.inputs) {
      LayerInput input = resolve(definition, text);
      input.place = text.place;
      inputs.push_back(input);
    }
    return inputs;
  }

  /// "batch.NAME", "in", "NAME", or any of them but the first with ":OUTPUT".
  LayerInput resolve(const LayerDefinition& definition, const Value& text) {
    std::string name = text.string();
    if (name.starts_with("batch.") && name.size() > 6) return {-1, 0, name.substr(6), {}};
    int output = 0;
    if (std::size_t colon = name.rfind(':'); colon != std::string::npos) {
      output = output_number(name.substr(colon + 1));
      if (output < 0)
        fail_once(&text, text.place, "input \"" + on_one_line(name) + "\": wanted the number of an output after ':'");
      name.erase(colon);
    }
    if (name == "in") return entering(text, output);
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope)
      if (auto known = names_.find(scope->prefix + name); known != names_.end())
        return {known->second, std::max(output, 0), "", {}};
    fail_once(&text, text.place, unknown(definition, name));
    return {};
  }

  static int output_number(const std::string& digits) {
    bool number = !digits.empty() && digits.size() < 6 &&
                  std::all_of(digits.begin(), digits.end(), [](unsigned char c) { return std::isdigit(c); });
    int output = number ? std::stoi(digits) : -1;
    return output < most_outputs ? output : -1;
  }

  LayerInput entering(const Value& text, int which) {
    const std::vector<LayerInput>& in = scopes_.back().in;
    if (in.empty())
      fail_once(&text, text.place,
                "input \"in\" means what enters a group, and this layer is in none; the first layer "
                "reads \"batch.inputs\" by itself");
    else if (which >= static_cast<int>(in.size()))
      fail_once(&text, text.place,
                "input \"" + on_one_line(text.string()) + "\": " + std::to_string(in.size()) + " enter the group");
    else if (which >= 0)
      return in[which];
    return {};
  }

  std::string unknown(const LayerDefinition& definition, const std::string& name) const {
    std::string begin = "input \"" + on_one_line(name) + "\": ";
    for (const Scope& scope : scopes_)
      if (names_.count(scope.prefix + name + ".0"))
        return begin + "it is repeated; name one copy, such as \"" + name + ".0\"";
    for (const auto* siblings : siblings_)
      for (const LayerDefinition& sibling : *siblings)
        if (sibling.name == name)
          return begin + (&sibling == &definition ? "a layer cannot read itself"
                                                  : "this layer comes later; a layer can only read earlier ones");
    std::vector<std::string> known = {"batch.inputs"};
    if (!scopes_.back().in.empty()) known.emplace_back("in");
    for (const auto& [full, layer] : names_) {
      const std::string& prefix = scopes_.back().prefix;
      known.push_back(full.starts_with(prefix) ? full.substr(prefix.size()) : full);
    }
    return begin + "there is no earlier layer of this name" + did_you_mean(name, known);
  }

  /// Copies of an entry repeat its mistakes; `what` tells them apart.
  void fail_once(const void* what, const Place& place, const std::string& text) {
    failed = true;
    if (reported_.insert(what).second) errors_.add(place, text);
  }

  ErrorList& errors_;
  std::vector<Scope> scopes_;
  std::vector<std::string> open_groups_;
  std::vector<const std::vector<LayerDefinition>*> siblings_;
  std::map<std::string, int> names_;  // full names of layers and group copies -> the layer whose output they give
  std::set<const void*> reported_;
};

}  // namespace

std::string describe_layer(const LayerEntry& layer) {
  return "layer " + std::to_string(layer.index) + " '" + layer.name + "' (" + layer.type + ")";
}

std::vector<LayerEntry> expand_layers(Value& list, ErrorList& errors) {
  LayerReader reader(errors);
  std::vector<LayerDefinition> definitions = reader.list(list, "layer", {});
  if (reader.failed()) return {};
  Expansion expansion(errors);
  expansion.run(definitions);
  if (expansion.failed) return {};
  return std::move(expansion.layers);
}

}  // namespace switchyard
