// The devices that a configuration names, with budgets; found without touching them where the file tells enough.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/account.hpp"
#include "config/config.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

struct PlanDevice {
  std::string name;  // "cpu:0"
  sy_device device{};
  const sy_backend_api* backend = nullptr;  // nullptr: not here; can be planned for, not run on
  uint64_t budget = no_budget;              // bytes
  double flops = 0;                         // per second; 0: unknown
  int64_t threads = 1;                      // CPU threads of calls
  std::string maker_name, bus_id;
};

/// What is assumed where nothing was measured.
inline constexpr double assumed_flops = 5e10, assumed_bytes_per_s = 1e10, assumed_latency_s = 1e-5;

/// Throws Error(SY_E_CONFIG): an unknown backend (naming the known ones), an ordinal that is not there (with the
/// count).
std::vector<PlanDevice> resolve_devices(const Config& config, Registry& registry);

}  // namespace switchyard
