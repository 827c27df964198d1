#include "plan/device.hpp"

#include <algorithm>
#include <thread>

#include "machine/description.hpp"
#include "plan/described.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"

namespace switchyard {

namespace {

/// A backend opened for as long as its devices are asked about.
class OpenBackend {
 public:
  explicit OpenBackend(const sy_backend_api& api) : api_(api) {
    ErrorList errors;
    const sy_config none = check_plugin_options(api, Value(), errors, "");
    call_plugin([&](sy_error** e) { return api.open(host_table(), &none, &backend_, e); });
  }
  ~OpenBackend() { api_.close(backend_); }
  OpenBackend(const OpenBackend&) = delete;
  OpenBackend& operator=(const OpenBackend&) = delete;

  /// False: there is no device of this number.
  bool info(uint32_t index, sy_device_info& out) const {
    out = {};
    out.size = sizeof(out);
    sy_error* error = nullptr;
    const sy_rc rc = api_.device(backend_, index, &out, &error);
    if (rc == SY_E_RANGE && !error) return false;
    if (rc != SY_OK) throw_plugin_error(rc, error);
    return true;
  }
  uint32_t count() const {
    sy_device_info ignored;
    uint32_t n = 0;
    while (n < 4096 && info(n, ignored)) ++n;
    return n;
  }

 private:
  const sy_backend_api& api_;
  sy_backend* backend_ = nullptr;
};

/// Of "cuda:1", and of a part of it, "cuda:1/0".
struct DeviceName {
  std::string backend;
  int index = 0;
  bool operator==(const DeviceName&) const = default;
};

/// The configuration saw to it that it is one.
DeviceName parse_name(const std::string& text) {
  const auto colon = text.find(':');
  return {text.substr(0, colon), std::stoi(text.substr(colon + 1))};
}

/// All GPUs, else one CPU device.
std::vector<Placed> automatic_devices(Registry& registry) {
  std::vector<Placed> all;
  if (const sy_backend_api* cuda = registry.find_backend("cuda")) {
    try {
      const uint32_t n = OpenBackend(*cuda).count();
      for (uint32_t i = 0; i < n; ++i) all.push_back({"cuda:" + std::to_string(i), {}});
    } catch (const Error& e) {
      log(1, "devices", std::string("no GPU: ") + e.what());
    }
  }
  if (all.empty()) all.push_back({"cpu:0", {}});
  return all;
}

/// Fills info; or tells why the device is not there.
std::string look_for(const sy_backend_api& api, const DeviceName& name, sy_device_info& info) {
  try {
    const OpenBackend backend(api);
    if (backend.info(static_cast<uint32_t>(name.index), info)) return "";
    const uint32_t n = backend.count();
    return std::to_string(n) + " " + name.backend + (n == 1 ? " device is visible" : " devices are visible");
  } catch (const Error& e) {
    if (e.code() != SY_E_UNAVAILABLE) throw;
    return e.what();
  }
}

/// 5 % of a GPU's memory are left to drivers and libraries.
uint64_t usable(uint64_t bytes) { return bytes - bytes / 20; }

void set_budget(PlanDevice& device, const DevicesConfig& config, std::size_t index, const sy_device_info* info) {
  if (const auto limit = config.memory_of(index)) {
    device.budget = static_cast<uint64_t>(*limit);
  } else if (info && device.device.type != SY_DEVICE_CPU && info->bytes_free > 0) {
    const DeviceName whole = parse_name(device.name);
    const auto parts = std::ranges::count_if(config.use, [&](const Placed& p) { return parse_name(p.text) == whole; });
    device.budget = usable(info->bytes_free) / static_cast<uint64_t>(std::max<std::ptrdiff_t>(1, parts));
  }
}

PlanDevice resolve_device(const Config& config, Registry& registry, const Placed& text, std::size_t i) {
  const DeviceName name = parse_name(text.text);
  PlanDevice device;
  device.name = text.text;
  device.backend = registry.find_backend(name.backend);
  device.device = {name.backend == "cuda" ? SY_DEVICE_CUDA : SY_DEVICE_CPU, name.index};
  if (!device.backend) {
    // Planning for a machine that is somewhere else needs nothing but the size of its memory.
    if (name.backend != "cuda" || !config.devices.memory_of(i)) {
      std::string known;
      for (const std::string& b : registry.names(SY_KIND_BACKEND)) known += (known.empty() ? "" : ", ") + b;
      throw Error(SY_E_CONFIG, text.place,
                  "devices.use: no backend is called '" + name.backend + "'; known: " + known +
                      (name.backend == "cuda" ? "; to plan without a GPU give devices.memory" : ""));
    }
    set_budget(device, config.devices, i, nullptr);
    return device;
  }
  device.device.type = device.backend->device_type;
  sy_device_info info;
  const std::string missing = look_for(*device.backend, name, info);
  if (!missing.empty()) {
    if (!config.devices.memory_of(i))
      throw Error(SY_E_CONFIG, text.place,
                  "devices.use: \"" + text.text + "\" is not there; " + missing +
                      "; to plan for another machine give devices.memory");
    device.backend = nullptr;
    set_budget(device, config.devices, i, nullptr);
    return device;
  }
  device.flops = device.flops_fp32 = info.flops;
  if (info.flops > 0) device.basis = Basis::reported;
  device.maker_name = info.name;
  device.bus_id = info.bus_id;
  set_budget(device, config.devices, i, &info);
  return device;
}

/// Cores are shared evenly among the logical CPU devices.
void set_threads(std::vector<PlanDevice>& devices, int64_t configured) {
  const int64_t cores = std::max(1u, std::thread::hardware_concurrency());
  const int64_t cpus =
      std::count_if(devices.begin(), devices.end(), [](const PlanDevice& d) { return d.device.type == SY_DEVICE_CPU; });
  for (PlanDevice& d : devices)
    d.threads = configured > 0 ? configured : std::max<int64_t>(1, cores / std::max<int64_t>(1, cpus));
}

/// A device that is not here is taken to be like one of its kind that is: a pair of which one is missing is no odd pair.
void assume_alike(std::vector<PlanDevice>& devices) {
  for (PlanDevice& d : devices) {
    const auto known = std::find_if(devices.begin(), devices.end(), [&](const PlanDevice& other) {
      return other.flops > 0 && other.device.type == d.device.type;
    });
    if (d.flops <= 0 && known != devices.end()) d.flops = known->flops, d.flops_fp32 = known->flops_fp32;
  }
}

PlanMachine machine_that_is_here(const Config& config, Registry& registry) {
  const std::vector<Placed> names = config.devices.automatic ? automatic_devices(registry) : config.devices.use;
  PlanMachine machine;
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < names.size(); ++i) {
    machine.devices.push_back(resolve_device(config, registry, names[i], i));
    seats.push_back({0, static_cast<int>(i), machine.devices.back().device.type});
  }
  assume_alike(machine.devices);
  set_threads(machine.devices, config.devices.threads);
  machine.links = Links(std::move(seats));
  return machine;
}

}  // namespace

PlanMachine resolve_machine(const Config& config, Registry& registry) {
  if (config.devices.machine) return described_machine(config, describe_machine(*config.devices.machine));
  return machine_that_is_here(config, registry);
}

}  // namespace switchyard
