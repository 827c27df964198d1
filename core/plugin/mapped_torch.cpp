#include "plugin/mapped_torch.hpp"

#include <dlfcn.h>
#include <link.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <regex>

namespace switchyard {
namespace {

int add_if_torch(dl_phdr_info* info, std::size_t, void* paths) {
  const std::string path = info->dlpi_name ? info->dlpi_name : "";
  if (path.substr(path.rfind('/') + 1).starts_with("libtorch_cpu.so"))
    static_cast<std::vector<std::string>*>(paths)->push_back(path);
  return 0;
}

/// "1.13" of "libtorch_cpu.so.1.13", as distributions name it; else what version.py of the Python package around says.
std::string version_in(const std::string& path) {
  static const std::regex in_name(R"(.*libtorch_cpu\.so\.(\d+\.\d+).*)"), in_file(R"(__version__ = '(\d+\.\d+).*)");
  std::smatch found;
  if (std::regex_match(path, found, in_name)) return found[1];
  std::ifstream file(std::filesystem::path(path).parent_path() / "../version.py");
  for (std::string line; std::getline(file, line);)
    if (std::regex_match(line, found, in_file)) return found[1];
  return "";
}

/// aoti_torch_abi_version() of a mapped library: major, minor and patch are its three highest bytes. Older ones have no
/// such function: what their files say, or "".
std::string version_of(const std::string& path) {
  void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_NOLOAD);
  if (!handle) return "";
  std::string version = version_in(path);
  if (void* symbol = dlsym(handle, "aoti_torch_abi_version")) {
    const std::uint64_t packed = reinterpret_cast<std::uint64_t (*)()>(symbol)();
    version = std::to_string(packed >> 56) + "." + std::to_string((packed >> 48) & 0xff);
  }
  dlclose(handle);  // NOLOAD counted one more use
  return version;
}

}  // namespace

std::vector<MappedTorch> mapped_torch() {
  std::vector<std::string> paths;
  dl_iterate_phdr(add_if_torch, &paths);
  std::vector<MappedTorch> found;
  for (const std::string& path : paths) found.push_back({path, version_of(path)});
  return found;
}

}  // namespace switchyard
