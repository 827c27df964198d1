// Finds the description that a configuration names.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "machine/description.hpp"
#include "plugin/search_path.hpp"

namespace switchyard {
namespace {

namespace fs = std::filesystem;

constexpr int most_devices = 1000000;

std::vector<std::string> folders() { return own_folders("core/machine/ready", "machines"); }

std::string read_file(const Place& place, const std::string& path) {
  std::error_code failed;
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  if (fs::is_directory(path, failed) || !stream || !(text << stream.rdbuf()))
    throw Error(SY_E_CONFIG, place,
                "devices.machine: '" + path +
                    "' cannot be read: " + (fs::is_directory(path, failed) ? "it is a folder" : std::strerror(errno)));
  return text.str();
}

std::string ready_file(const Placed& name) {
  for (const std::string& folder : folders()) {
    std::error_code failed;
    const fs::path file = fs::path(folder) / (name.text + ".toml");
    if (name.text.find('/') == std::string::npos && fs::is_regular_file(file, failed)) return file;
  }
  std::string known;
  for (const std::string& ready : ready_machines()) known += (known.empty() ? "" : ", ") + ready;
  throw Error(SY_E_CONFIG, name.place,
              "devices.machine: no machine is called \"" + name.text + "\"; known: " + known +
                  "; the path of a file of your own ends in .toml");
}

/// Matrices of a file serve fewer devices or hosts than they were written for, not more.
void check_matrix(const Place& place, const std::string& key, const PairFigures& figures, int wanted,
                  const std::string& of) {
  if (figures.size() == 0 || figures.size() >= wanted) return;
  throw Error(SY_E_CONFIG, place,
              "devices.machine: " + std::to_string(wanted) + " " + of + " are wanted, " + key + " is a matrix for " +
                  std::to_string(figures.size()));
}

void change_counts(const MachineChoice& choice, MachineDescription& machine) {
  if (choice.hosts) machine.hosts = static_cast<int>(*choice.hosts);
  if (choice.devices) {
    if (machine.devices.size() > 1)
      throw Error(SY_E_CONFIG, choice.place,
                  "devices.machine.devices: the hosts of " + machine.name + " have devices of " +
                      std::to_string(machine.devices.size()) + " kinds; change `count` in a file of your own");
    machine.devices[0].count = static_cast<int>(*choice.devices);
  }
  const int slots = machine.devices_of_host();
  if (static_cast<int64_t>(machine.hosts) * slots > most_devices)
    throw Error(SY_E_CONFIG, choice.place,
                "devices.machine: " + std::to_string(machine.hosts) + " hosts of " + std::to_string(slots) +
                    " devices are more than " + std::to_string(most_devices) + " devices");
  for (const auto& [key, figures] : {std::pair{"links.host.bandwidth", &machine.within.bytes_per_s},
                                     std::pair{"links.host.latency", &machine.within.latency_s}})
    check_matrix(choice.place, key, *figures, slots, "devices of a host");
  for (const auto& [key, figures] : {std::pair{"links.network.bandwidth", &machine.between.bytes_per_s},
                                     std::pair{"links.network.latency", &machine.between.latency_s}})
    check_matrix(choice.place, key, *figures, machine.hosts, "hosts");
}

}  // namespace

std::vector<std::string> ready_machines() {
  std::vector<std::string> names;
  for (const std::string& folder : folders()) {
    std::error_code failed;
    for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
      if (at->path().extension() == ".toml") names.push_back(at->path().stem());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

MachineDescription describe_machine(const MachineChoice& choice) {
  const std::string file = choice.file.text.empty() ? ready_file(choice.name) : choice.file.text;
  MachineDescription machine = parse_machine(read_file(choice.place, file), file);
  machine.name = choice.file.text.empty() ? choice.name.text : fs::path(file).filename().string();
  change_counts(choice, machine);
  return machine;
}

}  // namespace switchyard
