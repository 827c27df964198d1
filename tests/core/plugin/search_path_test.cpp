#include "plugin/search_path.hpp"

#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

using namespace switchyard;
namespace fs = std::filesystem;

namespace {
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "switchyard-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

bool contains(const std::vector<SearchFolder>& folders, const std::string& path, bool exists) {
  for (const SearchFolder& f : folders)
    if (f.path == path) return f.exists == exists;
  return false;
}
}  // namespace

TEST_CASE("folders: the user's first, then the environment's; each once, missing ones are kept") {
  const Folder a, b;
  const std::string missing = (a.path / "missing").string();
  setenv("SWITCHYARD_PLUGIN_PATH", (b.path.string() + "::" + a.path.string() + "/:" + missing).c_str(), 1);
  const auto folders = search_folders({a.path});
  unsetenv("SWITCHYARD_PLUGIN_PATH");
  REQUIRE(folders.size() >= 3);
  CHECK(folders[0].path == a.path);
  CHECK(folders[1].path == b.path);
  CHECK(folders[2].path == missing);
  CHECK(contains(folders, missing, false));
  CHECK_FALSE(contains(search_folders({}), b.path, true));
}

TEST_CASE("libraries in a folder are sorted; other files do not count") {
  const Folder f;
  for (const char* name : {"sy-layer-b.so", "sy-layer-a.so", "readme.txt", "sy-layer-c.so.1"})
    std::ofstream(f.path / name) << "x";
  CHECK(libraries_in(f.path) == std::vector<std::string>{f.path / "sy-layer-a.so", f.path / "sy-layer-b.so"});
  CHECK(libraries_in(f.path / "missing").empty());
}

TEST_CASE("a file's name says what it holds") {
  CHECK(parse_file_name("/x/sy-layer-linear.so").word == "layer");
  CHECK(parse_file_name("/x/sy-layer-linear.so").name == "linear");
  CHECK(parse_file_name("sy-schedule-zero-bubble.so").name == "zero-bubble");
  for (const char* name : {"sy-linear.so", "sy-glue-torch.so", "linear.so", "sy-layer-.so", "sy-.so"})
    CHECK(parse_file_name(name).word.empty());
}
