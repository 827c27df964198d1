#include "machine.hpp"

#include <sys/utsname.h>

#include <fstream>

namespace sy::cpu {
namespace {

/// The text after "key   :" in a file of such lines; "" when there is none.
std::string value_of(const char* file, const std::string& key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.compare(0, key.size(), key) != 0) continue;
    const auto colon = line.find(':');
    const auto text = colon == std::string::npos ? colon : line.find_first_not_of(" \t", colon + 1);
    if (text != std::string::npos) return line.substr(text);
  }
  return "";
}

uint64_t kilobytes(const std::string& key) {
  const std::string text = value_of("/proc/meminfo", key);
  return text.empty() ? 0 : std::stoull(text) * 1024;
}

}  // namespace

std::string processor_name() {
  const std::string name = value_of("/proc/cpuinfo", "model name");
  if (!name.empty()) return name;
  utsname system{};
  return uname(&system) == 0 ? system.machine : "unknown processor";
}

memory machine_memory() { return {kilobytes("MemTotal"), kilobytes("MemAvailable"), kilobytes("SwapTotal")}; }

}  // namespace sy::cpu
