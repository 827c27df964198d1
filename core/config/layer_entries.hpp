// The [[layer]] entries as they stand in the file, checked as far as the core knows their keys. Used by expand_layers.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/layers.hpp"
#include "config/value.hpp"

namespace switchyard {

/// One entry: a layer (it has a type) or a group (it has parts).
struct LayerDefinition {
  std::string type;                    // empty: a group
  std::optional<std::string> name;     // local
  std::optional<std::int64_t> repeat;  // nothing: once, without a number in the name
  bool trainable = true;
  std::string init = "default";
  std::vector<Value> inputs;  // strings with their places; empty: the layer before
  std::shared_ptr<const Value> options;
  std::vector<LayerDefinition> parts;
  int entry = 0;
  Place place, name_place, type_place, init_place;

  bool is_group() const { return type.empty(); }
};

/// What a group hands down to its parts.
struct Inherited {
  Value trainable = true;
  Value init = "default";
};

/// Reads the list and fills the defaults of the core's keys into it. False: there were mistakes.
class LayerReader {
 public:
  explicit LayerReader(ErrorList& errors) : errors_(errors) {}
  std::vector<LayerDefinition> list(Value& entries, const std::string& path, const Inherited& inherited);
  bool failed() const { return failed_; }

 private:
  LayerDefinition one(Value& entry, const std::string& path, const Inherited& inherited);
  void group(Value& entry, const std::string& path, const std::string& where, LayerDefinition& definition);
  void layer(Value& entry, const std::string& where, LayerDefinition& definition);
  void check_name(const LayerDefinition& definition, const std::string& where);
  void fail(const Place& place, const std::string& text);

  ErrorList& errors_;
  bool failed_ = false;
  int entries_ = 0;
};

}  // namespace switchyard
