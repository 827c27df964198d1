#include "config/config.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

#include "config/hints.hpp"
#include "config/reading.hpp"
#include "config/set.hpp"
#include "config/toml.hpp"

namespace switchyard {
namespace {

namespace fs = std::filesystem;
using Kind = Value::Kind;

constexpr std::streamoff most_bytes = 64 << 20;

struct TableReader {
  const char* name;
  Value (*read)(Reading&, const Value&);
  bool optional;  // stays away when the file does not have it
};

constexpr TableReader readers[] = {
    {"plugins", read_plugins, false},     {"model", read_model, false},       {"devices", read_devices, false},
    {"placement", read_placement, false}, {"schedule", read_schedule, false}, {"precision", read_precision, false},
    {"train", read_train, true},          {"data", read_data, true},          {"checkpoint", read_checkpoint, false},
    {"generate", read_generate, false},
};

bool is_known_table(const std::string& key) {
  return key == "layer" ||
         std::any_of(std::begin(readers), std::end(readers), [&](const TableReader& r) { return key == r.name; });
}

std::vector<std::string> top_names() {
  std::vector<std::string> names = {"layer"};
  for (const TableReader& reader : readers) names.emplace_back(reader.name);
  return names;
}

/// Keys above the first table, and tables that nobody knows.
void read_top(Reading& reading, const Value& document) {
  Value keys;
  keys.place = document.place;
  for (const Value::Member& member : document.table()) {
    bool table = member.value.is(Kind::table) || member.value.is(Kind::array);
    if (is_known_table(member.key)) continue;
    if (table && member.key != "seed")
      reading.errors.add(member.place, "[" + write_toml_key(member.key) + "]: unknown table" +
                                           unknown_key_hint(member.key, top_names()));
    else
      keys.table().push_back(member);
  }
  Options options = check_options(keys, core_table("").options, reading.errors, "", top_names());
  reading.config.seed = options.i64("seed");
  reading.config.tree = options.table();
}

void read_table(Reading& reading, const Value& document, const TableReader& reader) {
  Value absent;
  absent.place = {reading.config.file, 0, 0};
  const Value* table = document.find(reader.name);
  if (table && !table->is(Kind::table)) {
    reading.errors.add(table->place, std::string(reader.name) + ": wanted a table [" + reader.name + "], found " +
                                         kind_name(table->kind()));
    table = nullptr;
  }
  if (!table && reader.optional) return;
  Value shown = reader.read(reading, table ? *table : absent);
  shown.place = table ? table->place : Place{};
  reading.config.tree.set(reader.name, std::move(shown));
}

void read_layers(Reading& reading, const Value& document) {
  const Value* list = document.find("layer");
  if (!list) {
    reading.errors.add({reading.config.file, 0, 0}, "the file has no [[layer]]; a model needs at least one");
    return;
  }
  Value& shown = reading.config.tree.set("layer", *list);
  reading.config.layers = expand_layers(shown, reading.errors);
}

std::string read_file(const std::string& path) {
  auto fail = [&](const std::string& why) { return Error(SY_E_CONFIG, {path, 0, 0}, why); };
  if (fs::is_directory(path)) throw fail("this is a folder; wanted a TOML file");
  std::ifstream stream(path, std::ios::binary);
  if (!stream) throw fail(std::string("cannot be read: ") + std::strerror(errno));
  std::string text;
  char block[1 << 16];
  while (stream.read(block, sizeof block) || stream.gcount() > 0) {
    text.append(block, static_cast<std::size_t>(stream.gcount()));
    if (static_cast<std::streamoff>(text.size()) > most_bytes) throw fail("is larger than 64 MiB");
  }
  return text;
}

}  // namespace

Config parse_config(const std::string& text, const std::string& file_name, const std::vector<std::string>& sets) {
  Config config;
  config.file = file_name;
  config.folder = fs::absolute(file_name).parent_path().lexically_normal().string();
  Value document = parse_toml(text, file_name);
  config.recorded_origins = read_origins(text);
  apply_sets(document, sets);

  ErrorList errors;
  Reading reading(config, errors);
  read_top(reading, document);
  for (const TableReader& reader : readers) {
    read_table(reading, document, reader);
    if (reader.name == std::string("model")) read_layers(reading, document);
  }
  check_across_tables(config, errors);
  errors.raise();
  return config;
}

Config load_config(const std::string& path, const std::vector<std::string>& sets) {
  return parse_config(read_file(path), path, sets);
}

}  // namespace switchyard
