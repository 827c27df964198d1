#include "plan/described.hpp"

#include <algorithm>

namespace switchyard {

namespace {

double speed_of(const Speeds& flops, const PrecisionConfig& precision) {
  if (precision.type == "bf16") return flops.bf16;
  if (precision.type == "fp16") return flops.fp16;
  return precision.tf32 ? flops.tf32 : flops.fp32;
}

const char* type_name(int32_t type) { return type == SY_DEVICE_CPU ? "cpu" : "cuda"; }

/// The devices of a machine, counted by type.
class Roll {
 public:
  explicit Roll(const MachineDescription& machine) : machine_(machine) {
    int slot = 0;
    for (const DeviceKind& kind : machine.devices)
      for (int i = 0; i < kind.count; ++i, ++slot) slots_[kind.type == SY_DEVICE_CPU].push_back({&kind, slot});
  }

  int64_t count(int32_t type) const { return static_cast<int64_t>(of(type).size()) * machine_.hosts; }
  const DeviceKind& kind(sy_device device) const { return *place(device).kind; }
  Seat seat(sy_device device) const {
    const int each = static_cast<int>(of(device.type).size());
    return {device.index / each, place(device).slot, device.type};
  }
  /// In the order of hosts, then of slots.
  std::vector<sy_device> all() const {
    std::vector<sy_device> devices;
    for (int h = 0; h < machine_.hosts; ++h) {
      int seen[2] = {};
      for (const DeviceKind& kind : machine_.devices)
        for (int i = 0; i < kind.count; ++i) {
          const int each = static_cast<int>(of(kind.type).size());
          devices.push_back({kind.type, h * each + seen[kind.type == SY_DEVICE_CPU]++});
        }
    }
    return devices;
  }
  /// "cuda:0 to cuda:15"
  std::string text() const {
    std::string text;
    for (const int32_t type : {SY_DEVICE_CUDA, SY_DEVICE_CPU}) {
      const std::string name = type_name(type);
      const int64_t n = count(type);
      if (n > 0) text += (text.empty() ? "" : ", ") + name + ":0";
      if (n > 1) text += " to " + name + ":" + std::to_string(n - 1);
    }
    return text;
  }

 private:
  struct Slot {
    const DeviceKind* kind;
    int slot;
  };
  const std::vector<Slot>& of(int32_t type) const { return slots_[type == SY_DEVICE_CPU]; }
  const Slot& place(sy_device device) const { return of(device.type)[device.index % of(device.type).size()]; }

  const MachineDescription& machine_;
  std::vector<Slot> slots_[2];  // of one host: GPUs, processors
};

/// devices.use was checked to be TYPE:NUMBER.
sy_device named_device(const Placed& text, const Roll& roll, const std::string& machine) {
  const auto colon = text.text.find(':');
  const std::string type = text.text.substr(0, colon);
  const sy_device device{type == "cpu" ? SY_DEVICE_CPU : SY_DEVICE_CUDA, std::stoi(text.text.substr(colon + 1))};
  if ((type != "cpu" && type != "cuda") || device.index >= roll.count(device.type))
    throw Error(SY_E_CONFIG, text.place,
                "devices.use: \"" + text.text + "\" is not in " + machine + ", which has " + roll.text());
  return device;
}

}  // namespace

PlanMachine described_machine(const Config& config, const MachineDescription& machine) {
  const Roll roll(machine);
  std::vector<sy_device> chosen;
  if (config.devices.automatic) chosen = roll.all();
  for (const Placed& text : config.devices.use) chosen.push_back(named_device(text, roll, machine.name));

  PlanMachine plan;
  plan.name = machine.name;
  plan.about = machine.about;
  std::vector<Seat> seats;
  for (std::size_t i = 0; i < chosen.size(); ++i) {
    const DeviceKind& kind = roll.kind(chosen[i]);
    PlanDevice device;
    device.name = std::string(type_name(kind.type)) + ":" + std::to_string(chosen[i].index);
    device.device = chosen[i];
    const auto limit = config.devices.memory_of(i);
    device.budget = limit ? static_cast<uint64_t>(*limit) : kind.memory - kind.memory / 20;
    device.flops = speed_of(kind.flops, config.precision) * kind.efficiency;
    device.flops_fp32 = (config.precision.tf32 ? kind.flops.tf32 : kind.flops.fp32) * kind.efficiency;
    device.bytes_per_s = kind.bytes_per_s;
    device.basis = Basis::described;
    device.maker_name = kind.maker_name;
    device.threads = std::max<int64_t>(1, config.devices.threads);
    plan.devices.push_back(std::move(device));
    seats.push_back(roll.seat(chosen[i]));
  }
  plan.links = Links(std::move(seats), machine.within, machine.between, machine.peer);
  return plan;
}

}  // namespace switchyard
