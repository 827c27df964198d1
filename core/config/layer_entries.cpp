#include "config/layer_entries.hpp"

#include <algorithm>
#include <cctype>

#include "config/nearest.hpp"
#include "config/tables.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

std::vector<std::string> common_keys() {
  std::vector<std::string> keys;
  for (const OptionSpec& spec : core_table("layer").options) keys.push_back(spec.key);
  return keys;
}

bool is_common(const std::string& key) {
  const auto& specs = core_table("layer").options;
  return std::any_of(specs.begin(), specs.end(), [&](const OptionSpec& spec) { return spec.key == key; });
}

/// The members of a table that the core knows, or those that it does not.
Value members(const Value& entry, bool common) {
  Value out;
  out.place = entry.place;
  for (const Value::Member& member : entry.table())
    if (is_common(member.key) == common) out.table().push_back(member);
  return out;
}

/// Puts the value in effect into the entry; one that is there is kept.
void fill_in(Value& entry, const std::string& key, const Value& value) {
  if (!entry.find(key)) entry.set(key, value);
}

bool is_name(const std::string& name) {
  bool letters = std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return std::isalnum(c) || c == '_' || c == '-' || c == '.' || c >= 0x80;
  });
  return letters && !name.empty() && name.front() != '.' && name.back() != '.' && name.find("..") == std::string::npos;
}

}  // namespace

void LayerReader::fail(const Place& place, const std::string& text) {
  failed_ = true;
  errors_.add(place, text);
}

std::vector<LayerDefinition> LayerReader::list(Value& entries, const std::string& path, const Inherited& inherited) {
  std::vector<LayerDefinition> definitions;
  bool tables = entries.is(Kind::array) && std::all_of(entries.array().begin(), entries.array().end(),
                                                       [](const Value& v) { return v.is(Kind::table); });
  if (!tables) {
    fail(entries.place, path + ": wanted a list of tables, one for each layer; found " + kind_name(entries.kind()));
    return definitions;
  }
  if (entries.array().empty()) fail(entries.place, path + ": the list is empty");
  int number = 0;
  for (Value& entry : entries.array())
    definitions.push_back(one(entry, path + "." + std::to_string(number++), inherited));
  return definitions;
}

LayerDefinition LayerReader::one(Value& entry, const std::string& path, const Inherited& inherited) {
  LayerDefinition definition;
  definition.place = entry.place;
  std::string where = path;
  if (const Value* name = entry.find("name"); name && name->is(Kind::string))
    where += " '" + on_one_line(name->string()) + "'";

  Options common = check_options(members(entry, true), core_table("layer").options, errors_, where + ": ");
  failed_ = failed_ || !common.sound();
  if (common.given("name")) definition.name = common.str("name");
  if (common.given("repeat")) definition.repeat = common.i64("repeat");
  fill_in(entry, "trainable", inherited.trainable);
  fill_in(entry, "init", inherited.init);
  definition.trainable = common.given("trainable") ? common.boolean("trainable") : inherited.trainable.boolean();
  definition.init = common.given("init") ? common.str("init") : inherited.init.string();
  definition.name_place = common.place("name");
  definition.type_place = common.place("type");
  definition.init_place = common.place("init");
  if (common.given("input")) {
    const Value& input = common.value("input");
    definition.inputs = input.is(Kind::array) ? input.array() : Value::Array{input};
    if (definition.inputs.empty())
      fail(input.place, where + ": input: the list is empty; leave it out for the layer before");
  }
  check_name(definition, where);
  if (common.given("type") && common.given("layer"))
    fail(entry.place, where + ": has both type and layer; a layer has a type, a group has a list of layers");
  if (common.given("layer"))
    group(entry, path, where, definition);
  else if (common.given("type"))
    definition.type = common.str("type"), layer(entry, where, definition);
  else if (!entry.find("type"))
    fail(entry.place, where + ": has neither type (a layer) nor layer (a group)");
  return definition;
}

void LayerReader::check_name(const LayerDefinition& definition, const std::string& where) {
  if (!definition.name) return;
  const std::string& name = *definition.name;
  if (!is_name(name))
    fail(definition.name_place,
         where + ": name \"" + on_one_line(name) + "\": wanted letters, digits, '_', '-' and single dots between");
  else if (name == "in" || name == "batch" || name.starts_with("batch."))
    fail(definition.name_place, where + ": the name '" + name + "' is taken: as an input it means " +
                                    (name == "in" ? "what enters a group" : "a tensor of the batch"));
}

void LayerReader::group(Value& entry, const std::string& path, const std::string& where, LayerDefinition& definition) {
  std::vector<std::string> known = common_keys();
  for (const Value::Member& member : entry.table())
    if (!is_common(member.key))
      fail(member.place,
           where + ": " + on_one_line(member.key) + ": unknown key of a group" + did_you_mean(member.key, known));
  Value& parts = *entry.find("layer");
  definition.parts = list(parts, path + ".layer", {*entry.find("trainable"), *entry.find("init")});
}

void LayerReader::layer(Value& entry, const std::string& where, LayerDefinition& definition) {
  const std::string& type = definition.type;
  if (type.empty()) fail(definition.type_place, where + ": type is empty");
  if (on_one_line(type) != type || type.find(' ') != std::string::npos)
    fail(definition.type_place, where + ": type \"" + on_one_line(type) + "\": a type has no blanks");
  definition.entry = entries_++;
  definition.options = std::make_shared<const Value>(members(entry, false));
}

Options check_layer_options(const LayerEntry& layer, const std::vector<OptionSpec>& specs, ErrorList& errors) {
  return check_options(*layer.options, specs, errors, describe_layer(layer) + ": ", common_keys());
}

}  // namespace switchyard
