// Machines that are not here, as devices.machine describes them: ready ones that come with the program, or a user's
// TOML file. ../config/REFERENCE.md explains every key.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "config/tables.hpp"
#include "machine/links.hpp"

namespace switchyard {

/// Floating point operations per second by number type.
struct Speeds {
  double fp32 = 0, tf32 = 0, bf16 = 0, fp16 = 0;
};

/// Devices of one kind in each host.
struct DeviceKind {
  int32_t type = 0;  // SY_DEVICE_*
  int count = 1;
  std::string maker_name;
  uint64_t memory = 0;     // bytes
  double bytes_per_s = 0;  // read or written in its own memory; 0: not described
  Speeds flops;            // of the data sheet
  double efficiency = 1;   // the share of them that layers reach
};

struct MachineDescription {
  std::string name;   // as it was asked for
  std::string about;  // one line
  int hosts = 1;
  std::vector<DeviceKind> devices;  // of one host, in order
  bool peer = false;                // GPUs of one host reach each other without the host
  LinkClass within, between;        // within a host, by slot; between hosts
  int devices_of_host() const;
};

/// The description that a configuration names, with the counts that it changes. Throws Error(SY_E_CONFIG) with a line
/// for each mistake: at the configuration for an unknown name (with the nearest known one) or a file that cannot be
/// read, at the place in the file for what is wrong in it.
MachineDescription describe_machine(const MachineChoice& choice);

/// The text of a machine file. `file` is the name that places carry.
MachineDescription parse_machine(const std::string& text, const std::string& file);

/// Names of the machines that come with the program, sorted.
std::vector<std::string> ready_machines();

/// The keys of a machine file, in the order of the reference.
const std::vector<TableSpec>& machine_tables();

}  // namespace switchyard
