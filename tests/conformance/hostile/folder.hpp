// Folders and files for the tests of the loader.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

/// A folder of its own, removed at the end.
class Folder {
 public:
  Folder() {
    std::string name = (std::filesystem::temp_directory_path() / "switchyard-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string at(const std::string& name) const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path_ / name, std::ios::binary) << bytes;
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// Where the plugins of hostile.c lie.
inline std::string hostile_folder() {
  const char* folder = std::getenv("HOSTILE_PLUGINS");
  if (!folder) throw std::runtime_error("HOSTILE_PLUGINS is not set: run this through Meson");
  return folder;
}
inline std::string hostile(const std::string& name) { return hostile_folder() + "/sy-schedule-" + name + ".so"; }
