// A folder for one run of the cases, and programs started from there.
#pragma once

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

namespace comm_test {

class Scratch {
 public:
  Scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "switchyard-comm-XXXXXX").string();
    if (!mkdtemp(name.data())) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~Scratch() { std::filesystem::remove_all(path_); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  const std::filesystem::path& path() const { return path_; }

  /// Runs a command for three minutes at most and prints what it said; its exit code.
  int run(const std::string& command, const std::string& name) const {
    const std::filesystem::path said = path_ / (name + ".log");
    const int status = std::system(("timeout -k 5 180 " + command + " >" + said.string() + " 2>&1 </dev/null").c_str());
    std::ifstream log(said);
    for (std::string line; std::getline(log, line);) std::printf("%s: %s\n", name.c_str(), line.c_str());
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

 private:
  std::filesystem::path path_;
};

/// The program that is one rank.
inline std::string comm_rank() {
  const char* build = std::getenv("SWITCHYARD_BUILD");
  return std::string(build ? build : ".") + "/tests/backends/comm/comm-rank";
}

}  // namespace comm_test
