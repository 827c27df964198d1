#include <cstdint>
#include <cstdio>
#include <map>

#include "config/reading.hpp"
#include "config/toml.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

constexpr std::string_view header_begin = "# Switchyard: all values in effect and where each comes from. Checksum ";

/// FNV-1a: tells whether a printed file was changed, nothing more.
std::uint64_t checksum(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
  return hash;
}

/// Says where values come from.
class Origins {
 public:
  explicit Origins(const Config& config) : config_(config) {}

  std::string comment(const Value::Member& member) const {
    std::string own = of(member.value.place);
    std::map<std::string, std::string> others;  // origin -> keys
    gather(member.value, "", own, others);
    std::string text = own;
    for (const auto& [origin, keys] : others) text += "; " + keys + ": " + origin;
    return on_one_line(text);
  }

 private:
  std::string of(const Place& place) const {
    if (place.file.empty()) return "default";
    if (from_set(place) || place.line == 0) return place.file;
    std::size_t line = static_cast<std::size_t>(place.line);
    bool recorded = place.file == config_.file && line < config_.recorded_origins.size();
    if (recorded && !config_.recorded_origins[line].empty()) return config_.recorded_origins[line];
    return place.file + ":" + std::to_string(place.line);
  }

  /// Parts of a table in braces that come from elsewhere than the whole.
  void gather(const Value& value, const std::string& path, const std::string& own,
              std::map<std::string, std::string>& others) const {
    if (!value.is(Kind::table)) return;
    for (const Value::Member& member : value.table()) {
      std::string name = path + write_toml_key(member.key);
      std::string origin = of(member.value.place);
      if (origin != own) others[origin] += (others[origin].empty() ? "" : ", ") + name;
      gather(member.value, name + ".", origin, others);
    }
  }

  const Config& config_;
};

/// Adds the defaults of a plugin's options to a table of them.
void add_defaults(Value& table, const std::vector<OptionSpec>* specs) {
  if (!specs) return;
  for (const OptionSpec& spec : *specs) {
    if (!spec.fallback || spec.fallback->empty() || table.find(spec.key)) continue;
    if (auto value = parse_toml_value(*spec.fallback, {})) table.set(spec.key, std::move(*value));
  }
}

void add_layer_defaults(Value& list, const SpecLookup& lookup) {
  for (Value& entry : list.array()) {
    if (Value* parts = entry.find("layer"))
      add_layer_defaults(*parts, lookup);
    else if (const Value* type = entry.find("type"))
      add_defaults(entry, lookup("layer", type->string()));
  }
}

/// For [placement] and [schedule]: the sub-table of the chosen one, made where there is none.
void add_choice_defaults(Value& table, const std::string& name, const std::vector<OptionSpec>* specs) {
  if (!specs || specs->empty()) return;
  Value* options = table.find(name);
  if (!options) options = &table.set(name, Value());
  add_defaults(*options, specs);
}

Value with_defaults(const Config& config, const SpecLookup& lookup) {
  Value tree = config.tree;
  if (!lookup) return tree;
  if (Value* layers = tree.find("layer")) add_layer_defaults(*layers, lookup);
  const std::string& policy = config.placement.policy.name;
  if (policy != "explicit") add_choice_defaults(*tree.find("placement"), policy, lookup("policy", policy));
  const std::string& schedule = config.schedule.type.name;
  if (schedule != "file") add_choice_defaults(*tree.find("schedule"), schedule, lookup("schedule", schedule));
  if (config.train) {
    const std::string& optimizer = config.train->optimizer.type;
    Value& shown = *tree.find("train")->find("optimizer");
    Value* own_table = shown.find(optimizer);
    Value defaults = own_table ? *own_table : Value();
    add_defaults(defaults, lookup("optimizer", optimizer));
    for (const Value::Member& member : defaults.table())
      if (!(own_table && own_table->find(member.key)) && !shown.find(member.key)) shown.set(member.key, member.value);
  }
  return tree;
}

}  // namespace

std::string printed_header(const std::string& body) {
  char digits[17];
  std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(checksum(body)));
  return std::string(header_begin) + digits + ".\n";
}

std::vector<std::string> read_origins(const std::string& text) {
  std::size_t header_end = text.find('\n');
  if (!text.starts_with(header_begin) || header_end == std::string::npos) return {};
  std::string body = text.substr(header_end + 1);
  if (text.substr(0, header_end + 1) != printed_header(body)) return {};
  std::vector<std::string> origins(2);  // there is no line 0, and line 1 is the header
  for (std::size_t at = 0; at < body.size();) {
    std::size_t end = std::min(body.find('\n', at), body.size());
    std::string line = body.substr(at, end - at);
    std::size_t tab = line.find("\t# ");
    origins.push_back(tab == std::string::npos ? "" : line.substr(tab + 3));
    at = end + 1;
  }
  return origins;
}

std::string print_config(const Config& config, const SpecLookup& lookup) {
  Origins origins(config);
  std::string body =
      write_toml(with_defaults(config, lookup), [&](const Value::Member& m) { return origins.comment(m); });
  return printed_header(body) + body;
}

std::string to_toml(const Config& config) { return write_toml(config.tree); }

}  // namespace switchyard
