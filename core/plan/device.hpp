// The devices that a configuration names, with budgets and links; found without touching them where the file tells
// enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/account.hpp"
#include "config/config.hpp"
#include "machine/links.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

struct PlanDevice {
  std::string name;  // "cpu:0"
  sy_device device{};
  const sy_backend_api* backend = nullptr;  // nullptr: not here; can be planned for, not run on
  uint64_t budget = no_budget;              // bytes
  double flops = 0;                         // per second in the run's type; 0: unknown
  double flops_fp32 = 0;                    // the same in fp32, for layers that are kept so
  double bytes_per_s = 0;                   // of its own memory; 0: unknown
  Basis basis = Basis::assumed;             // of its speed
  double update_s = 0;                      // per element: clearing gradients, norm, optimizer step; 0: unknown
  int64_t threads = 1;                      // CPU threads of calls
  std::string maker_name, bus_id;
};

/// What is assumed of a device that nothing is known about.
inline constexpr double assumed_flops = 5e10;

/// What a plan is made for.
struct PlanMachine {
  std::string name, about;  // of devices.machine; empty: this one
  std::vector<PlanDevice> devices;
  Links links;  // between them, by their indices
};

/// Throws Error(SY_E_CONFIG): an unknown backend (naming the known ones), an ordinal that is not there (with the
/// count), what is wrong with devices.machine.
PlanMachine resolve_machine(const Config& config, Registry& registry);

}  // namespace switchyard
