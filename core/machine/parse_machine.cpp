// A machine's TOML file, checked like a configuration.
#include <cmath>

#include "config/size.hpp"
#include "config/toml.hpp"
#include "machine/description.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

class MachineReader {
 public:
  MachineDescription read(const Value& document) {
    const Options top = check("", document);
    machine_.about = top.str("about");
    machine_.hosts = static_cast<int>(top.i64("hosts"));
    if (top.has("device")) read_devices(top.value("device"));
    if (top.has("links")) read_links(top.value("links"));
    errors_.raise();
    return std::move(machine_);
  }

 private:
  Options check(const std::string& name, const Value& table) {
    for (const TableSpec& spec : machine_tables())
      if (spec.name == name) return check_options(table, spec.options, errors_, name.empty() ? "" : name + ".");
    throw Error(SY_E_INTERNAL, "machine files have no table [" + name + "]");
  }

  void read_devices(const Value& list) {
    const bool tables = list.is(Kind::array) && !list.array().empty() && list.array()[0].is(Kind::table);
    if (!tables)
      return errors_.add(list.place, std::string("device: wanted [[device]] entries, found ") + kind_name(list.kind()));
    for (const Value& entry : list.array()) machine_.devices.push_back(read_device(check("device", entry)));
  }

  DeviceKind read_device(const Options& options) {
    DeviceKind kind;
    kind.type = options.str("type") == "cpu" ? SY_DEVICE_CPU : SY_DEVICE_CUDA;
    kind.count = static_cast<int>(options.i64("count"));
    kind.maker_name = options.str("maker_name");
    if (options.has("bandwidth")) kind.bytes_per_s = options.f64("bandwidth");
    kind.efficiency = options.f64("efficiency");
    if (options.has("memory")) kind.memory = read_size(options.value("memory"));
    if (options.has("flops")) kind.flops = read_speeds(check("device.flops", options.value("flops")));
    return kind;
  }

  uint64_t read_size(const Value& value) {
    try {
      return static_cast<uint64_t>(size_of_value(value, "device.memory"));
    } catch (const Error& error) {
      errors_.add({}, error.what());  // the place is in the text
      return 0;
    }
  }

  /// A type that is not described is computed in fp32.
  Speeds read_speeds(const Options& options) {
    const auto speed = [&](const char* key) { return options.has(key) ? options.f64(key) : options.f64("fp32"); };
    return {speed("fp32"), speed("tf32"), speed("bf16"), speed("fp16")};
  }

  void read_links(const Value& table) {
    const Options links = check("links", table);
    if (links.has("host")) {
      const Options host = check("links.host", links.value("host"));
      machine_.peer = host.boolean("peer");
      machine_.within = read_class("links.host", host, machine_.devices_of_host(), "devices of a host");
    }
    if (links.has("network"))
      machine_.between =
          read_class("links.network", check("links.network", links.value("network")), machine_.hosts, "hosts");
  }

  LinkClass read_class(const std::string& name, const Options& options, int size, const std::string& of) {
    LinkClass figures;
    if (options.has("bandwidth"))
      figures.bytes_per_s = read_figures(name + ".bandwidth", options.value("bandwidth"), size, of, true);
    figures.latency_s = read_figures(name + ".latency", options.value("latency"), size, of, false);
    return figures;
  }

  PairFigures read_figures(const std::string& what, const Value& value, int size, const std::string& of, bool divides) {
    const auto wrong = [&](const Value& found, const std::string& wanted) {
      errors_.add(found.place, what + ": wanted " + wanted);
      return PairFigures(1);
    };
    const std::string number = divides ? "a number above 0" : "a number of 0 or more";
    const auto fits = [&](const Value& v) {
      return v.is_number() && std::isfinite(v.real()) && (divides ? v.real() > 0 : v.real() >= 0);
    };
    if (value.is_number()) return fits(value) ? PairFigures(value.real()) : wrong(value, number);
    const std::string rows = std::to_string(size) + " rows of " + std::to_string(size) +
                             " numbers, one for each of the " + std::to_string(size) + " " + of;
    if (!value.is(Kind::array)) return wrong(value, number + ", or " + rows + "; found " + kind_name(value.kind()));
    if (static_cast<int>(value.array().size()) != size)
      return wrong(value, rows + "; found " + std::to_string(value.array().size()) + " rows");
    std::vector<double> all;
    for (const Value& row : value.array()) {
      if (!row.is(Kind::array) || static_cast<int>(row.array().size()) != size) return wrong(row, rows);
      for (const Value& item : row.array()) {
        const bool diagonal = all.size() % (size + 1) == 0;  // from a device to itself nothing travels
        if (!(diagonal ? item.is_number() : fits(item))) return wrong(item, number);
        all.push_back(item.real());
      }
    }
    return {size, std::move(all)};
  }

  MachineDescription machine_;
  ErrorList errors_;
};

}  // namespace

int MachineDescription::devices_of_host() const {
  int n = 0;
  for (const DeviceKind& kind : devices) n += kind.count;
  return n;
}

MachineDescription parse_machine(const std::string& text, const std::string& file) {
  return MachineReader().read(parse_toml(text, file));
}

}  // namespace switchyard
