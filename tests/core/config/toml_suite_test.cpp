// The TOML project's own files: every invalid one is refused with a line, every valid one is read.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <sstream>

#include "config/config.hpp"
#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;
namespace fs = std::filesystem;

namespace {

fs::path suite_folder() {
  const char* shared = std::getenv("SWITCHYARD_SHARED");
  const char* source = std::getenv("SWITCHYARD_SOURCE");
  fs::path beside = fs::path(source ? source : ".") / ".." / "shared";
  return (shared ? fs::path(shared) : beside) / "data" / "toml-test" / "tests";
}

std::string read(const fs::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::stringstream text;
  text << stream.rdbuf();
  return text.str();
}

/// The .toml files that the suite lists for TOML 1.0 under "valid/" or "invalid/"; empty where the suite is missing.
std::vector<fs::path> listed(const std::string& begin) {
  std::vector<fs::path> files;
  std::ifstream list(suite_folder() / "files-toml-1.0.0");
  for (std::string line; std::getline(list, line);)
    if (line.starts_with(begin) && line.ends_with(".toml")) files.push_back(suite_folder() / line);
  if (files.empty()) std::cout << "[skipped] no toml-test files in " << suite_folder() << "\n";
  return files;
}

bool has_line(const std::string& text, const std::string& file) {
  std::size_t at = text.find(file + ":");
  return at != std::string::npos && std::isdigit(static_cast<unsigned char>(text[at + file.size() + 1])) &&
         text[at + file.size() + 1] != '0';
}

}  // namespace

TEST_CASE("toml-test: invalid files are refused with a line") {
  for (const fs::path& file : listed("invalid/")) {
    std::string text = refusal([&] { load_config(file.string()); });
    CHECK_MESSAGE(has_line(text, file.string()), file, ": ", text);
    CHECK_MESSAGE(lines(text) == 1, file, ": ", text);
  }
}

TEST_CASE("toml-test: valid files are read, survive writing, and are refused for their keys") {
  for (const fs::path& file : listed("valid/")) {
    Value value;
    std::string text = refusal([&] { value = parse_toml(read(file), file.string()); });
    CHECK_MESSAGE(text == "", file, ": ", text);
    std::string written = write_toml(value);
    Value again;
    text = refusal([&] { again = parse_toml(written, "written"); });
    CHECK_MESSAGE(text == "", file, ": ", text, "\n", written);
    CHECK_MESSAGE(write_toml(again) == written, file);
    CHECK_MESSAGE(refusal([&] { load_config(file.string()); }) != "", file);
  }
}

TEST_CASE("toml-test: files of other versions do not crash") {
  if (!fs::is_directory(suite_folder())) return;
  for (const auto& entry : fs::recursive_directory_iterator(suite_folder()))
    if (entry.path().extension() == ".toml") CHECK(refusal([&] { load_config(entry.path().string()); }) != "");
}
