// A folder of its own for one test, and whole files in and out.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>

#include "../../support/text.hpp"
#include "base/error.hpp"

namespace switchyard::test {

/// Removed with everything in it. In memory where the system has such a place: flushing is then quick.
class TempFolder {
 public:
  TempFolder() {
    for (const std::filesystem::path& base :
         {std::filesystem::path("/dev/shm"), std::filesystem::temp_directory_path()}) {
      path_ = (base / "switchyard-XXXXXX").string();
      if (mkdtemp(path_.data())) return;
    }
    throw std::runtime_error("no temporary folder");
  }
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

inline std::string read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write_file(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  if (!out.flush()) throw std::runtime_error("cannot write " + path);
}

/// The text of the Error that `act` throws, with its code in front ("15 ..."); "" if it throws none.
template <class Act>
std::string failure(Act act) {
  try {
    act();
  } catch (const Error& error) {
    return std::to_string(error.code()) + " " + error.what();
  }
  return "";
}

}  // namespace switchyard::test
