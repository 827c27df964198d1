// The devices of a machine that is described, not here.
#pragma once

#include "machine/description.hpp"
#include "plan/device.hpp"

namespace switchyard {

/// Those that devices.use names (all when it is "auto"), numbered by type through the hosts: with two hosts of eight,
/// "cuda:8" is the first of the second host. Their budget is the described memory minus 5 %, or devices.memory. Throws
/// Error(SY_E_CONFIG) for a device that the machine does not have.
PlanMachine described_machine(const Config& config, const MachineDescription& machine);

}  // namespace switchyard
