#include <algorithm>
#include <filesystem>

#include "config/reading.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

/// A path, or a bare file name that is not beside the file and so is searched for.
void make_plugin_path(const Reading& reading, Value& value) {
  const std::string& text = value.string();
  bool bare = text.find('/') == std::string::npos;
  if (!bare || std::filesystem::exists(reading.path(text, value.place))) reading.make_path(value, "plugins.load");
}

void for_each_text(Value& value, const std::function<void(Value&)>& change) {
  if (value.is(Kind::string)) return change(value);
  for (Value& item : value.array()) change(item);
}

InputConfig read_input(Reading& reading, Value& table) {
  Options options = reading.check("model.input", table);
  InputConfig input;
  input.shape = options.i64s("shape");
  input.type = options.str("type");
  input.place = table.place;
  bool is_inline = table.is_inline;
  table = options.table();
  table.is_inline = is_inline;
  return input;
}

std::vector<RenameRule> read_rename(Reading& reading, const Value& table) {
  std::vector<RenameRule> rules;
  for (const Value::Member& member : table.table()) {
    const std::string& from = member.key;
    std::string what = "model.weights.rename: \"" + on_one_line(from) + "\": ";
    if (!member.value.is(Kind::string)) {
      reading.errors.add(member.place, what + "wanted a string, found " + kind_name(member.value.kind()) +
                                           (member.value.is(Kind::table) ? "; write names with dots in quotes" : ""));
      continue;
    }
    const std::string& to = member.value.string();
    if (std::count(from.begin(), from.end(), '*') != std::count(to.begin(), to.end(), '*'))
      reading.errors.add(member.place,
                         what + "both sides need the same number of '*', \"" + on_one_line(to) + "\" has another");
    rules.push_back({from, to, member.place});
  }
  return rules;
}

WeightsConfig read_weights(Reading& reading, Value& table) {
  Options options = reading.check("model.weights", table);
  Value shown = options.table();
  shown.is_inline = table.is_inline;
  WeightsConfig weights;
  weights.place = table.place;
  if (Value* file = shown.find("file")) {
    reading.make_path(*file, "model.weights.file");
    weights.file = {file->string(), file->place};
  }
  if (options.has("rename")) weights.rename = read_rename(reading, options.value("rename"));
  const Value& unused = options.value("allow_unused");
  if (unused.is(Kind::boolean))
    weights.allow_unused = unused.boolean();
  else if (Reading::is_texts(unused))
    weights.allow_unused_patterns = reading.patterns(unused);
  else
    reading.errors.add(unused.place, "model.weights.allow_unused: wanted true, false or a list of patterns, found " +
                                         std::string(kind_name(unused.kind())));
  table = std::move(shown);
  return weights;
}

}  // namespace

Value read_plugins(Reading& reading, const Value& table) {
  Value shown = reading.check("plugins", table).table();
  for_each_text(*shown.find("paths"), [&](Value& value) { reading.make_path(value, "plugins.paths"); });
  for_each_text(*shown.find("load"), [&](Value& value) { make_plugin_path(reading, value); });
  reading.config.plugins.paths = Reading::texts(*shown.find("paths"));
  reading.config.plugins.load = Reading::texts(*shown.find("load"));
  return shown;
}

Value read_model(Reading& reading, const Value& table) {
  Options options = reading.check("model", table);
  Value shown = options.table();
  ModelConfig& model = reading.config.model;
  model.place = table.place;
  model.context_place = options.place("context");
  if (options.has("context")) model.context = options.i64("context");
  if (Value* input = shown.find("input")) model.input = read_input(reading, *input);
  if (Value* weights = shown.find("weights")) model.weights = read_weights(reading, *weights);
  return shown;
}

}  // namespace switchyard
