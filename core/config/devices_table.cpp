#include <algorithm>
#include <cctype>
#include <set>

#include "config/reading.hpp"
#include "config/size.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

constexpr const char* use_wanted =
    "devices.use: wanted \"auto\" or a list of devices such as [\"cuda:0\", \"cpu:0\"], found ";

void add_device(Reading& reading, const std::string& name, const Place& place, std::set<std::string>& seen) {
  if (!check_device_name(name, place, "devices.use", reading.errors)) return;
  if (!seen.insert(name).second) reading.errors.add(place, "devices.use: \"" + name + "\" is listed twice");
  reading.config.devices.use.push_back({name, place});
}

void read_use(Reading& reading, const Value& use) {
  DevicesConfig& devices = reading.config.devices;
  if (use.is(Kind::string) && use.string() == "auto") return;
  devices.automatic = false;
  if (!Reading::is_texts(use)) return reading.errors.add(use.place, use_wanted + std::string(kind_name(use.kind())));
  std::set<std::string> seen;
  for (const Placed& item : Reading::texts(use)) {
    try {
      for (const std::string& name : expand_braces(item.text, item.place)) add_device(reading, name, item.place, seen);
    } catch (const Error& error) {
      reading.errors.add({}, error.what());
    }
  }
  if (use.is(Kind::array) && use.array().empty())
    reading.errors.add(use.place, std::string(use_wanted) + "an empty list");
}

std::optional<std::int64_t> read_limit(Reading& reading, const Value& value) {
  if (value.is(Kind::string) && value.string() == "auto") return std::nullopt;
  try {
    return size_of_value(value, "devices.memory");
  } catch (const Error& error) {
    reading.errors.add({}, error.what());  // the place is in the text
    return std::nullopt;
  }
}

void read_memory(Reading& reading, const Value& memory) {
  DevicesConfig& devices = reading.config.devices;
  devices.memory_for_each = !memory.is(Kind::array);
  Value::Array items = devices.memory_for_each ? Value::Array{memory} : memory.array();
  for (const Value& item : items) {
    devices.memory.push_back(read_limit(reading, item));
    devices.memory_places.push_back(item.place);
  }
  if (!devices.memory_for_each && !devices.automatic && items.size() != devices.use.size())
    reading.errors.add(memory.place, "devices.memory: " + std::to_string(items.size()) + " sizes for " +
                                         std::to_string(devices.use.size()) +
                                         " devices; give one for each, or one string for all");
  if (!devices.memory_for_each && items.empty()) reading.errors.add(memory.place, "devices.memory: the list is empty");
}

/// A path has a slash or ends in .toml; anything else is the name of a ready description.
bool is_path(const std::string& text) { return text.find('/') != std::string::npos || text.ends_with(".toml"); }

/// Turns devices.machine = "NAME" or "PATH" into the table in effect.
void read_machine(Reading& reading, Value& machine) {
  Value table = machine;
  if (machine.is(Kind::string)) {
    table = Value();
    table.place = machine.place;
    table.is_inline = true;
    table.set(is_path(machine.string()) ? "file" : "name", machine);
  } else if (!machine.is(Kind::table)) {
    return reading.errors.add(
        machine.place,
        std::string(
            "devices.machine: wanted a name such as \"h100-sxm\", the path of a TOML file, or a table, found ") +
            kind_name(machine.kind()));
  }
  const Options options = reading.check("devices.machine", table);
  machine = options.table();
  machine.is_inline = table.is_inline;
  if (options.has("name") == options.has("file"))
    reading.errors.add(table.place,
                       std::string("devices.machine: ") +
                           (options.has("name") ? "both a name and a file; leave one out" : "wanted a name or a file"));
  MachineChoice choice;
  choice.place = table.place;
  if (options.has("name")) choice.name = {options.str("name"), options.place("name")};
  if (Value* file = machine.find("file")) {
    reading.make_path(*file, "devices.machine.file");
    choice.file = {file->string(), file->place};
  }
  if (options.has("hosts")) choice.hosts = options.i64("hosts");
  if (options.has("devices")) choice.devices = options.i64("devices");
  reading.config.devices.machine = std::move(choice);
}

bool is_device_number(const std::string& text) {
  return !text.empty() && text.size() < 7 && (text == "0" || text[0] != '0') &&
         std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

bool check_device_name(const std::string& name, const Place& place, const std::string& what, ErrorList& errors) {
  std::size_t colon = name.find(':');
  std::string type = name.substr(0, colon);
  std::string number = colon == std::string::npos ? "" : name.substr(colon + 1);
  bool type_fits = !type.empty() && std::all_of(type.begin(), type.end(), [](unsigned char c) {
    return std::islower(c) || std::isdigit(c) || c == '_';
  });
  std::size_t slash = number.find('/');
  bool number_fits = is_device_number(number.substr(0, slash)) &&
                     (slash == std::string::npos || is_device_number(number.substr(slash + 1)));
  if (type_fits && number_fits && type != "gpu") return true;
  std::string hint;
  if (type == "gpu" || type == "cuda" || type == "cpu" || type == "GPU" || type == "CPU" || type == "CUDA")
    hint = std::string("; write \"") + (type == "cpu" || type == "CPU" ? "cpu" : "cuda") + ":" +
           (number_fits ? number : "0") + "\"";
  errors.add(place, what + ": \"" + on_one_line(name) +
                        "\" is no device; wanted TYPE:NUMBER such as \"cuda:0\" or \"cpu:1\", or TYPE:NUMBER/PART" + hint);
  return false;
}

std::optional<std::int64_t> DevicesConfig::memory_of(std::size_t index) const {
  if (memory_for_each) return memory.at(0);
  return index < memory.size() ? memory[index] : std::nullopt;
}

Value read_devices(Reading& reading, const Value& table) {
  Options options = reading.check("devices", table);
  DevicesConfig& devices = reading.config.devices;
  devices.place = table.place;
  read_use(reading, options.value("use"));
  if (options.has("memory")) read_memory(reading, options.value("memory"));
  devices.threads = options.i64("threads");
  devices.p2p = options.str("p2p");
  devices.stop_within = options.f64("stop_within");
  Value shown = options.table();
  if (Value* machine = shown.find("machine")) read_machine(reading, *machine);
  return shown;
}

}  // namespace switchyard
