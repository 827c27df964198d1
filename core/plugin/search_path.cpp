#include "plugin/search_path.hpp"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "plugin/plugin_table.hpp"

namespace switchyard {
namespace {

namespace fs = std::filesystem;

/// The folder of the shared library (or program) that this code is part of; empty when nobody can tell.
fs::path own_folder() {
  static const fs::path folder = [] {
    std::error_code failed;
    Dl_info info;
    fs::path file;
    if (dladdr(reinterpret_cast<const void*>(&search_folders), &info) && info.dli_fname) file = info.dli_fname;
    // A library that was opened by a relative path is called by that path; else it is part of the program itself.
    const bool opened = file.has_parent_path() && fs::exists(file, failed);
    if (!file.is_absolute() && !opened) file = fs::read_symlink("/proc/self/exe", failed);
    file = fs::canonical(file, failed);
    return failed ? fs::path() : file.parent_path();
  }();
  return folder;
}

/// The top of the Meson build tree that `folder` lies in; empty when it lies in none.
fs::path build_tree(fs::path folder) {
  constexpr int levels = 4;
  std::error_code failed;
  for (int i = 0; i < levels && folder.has_relative_path(); ++i, folder = folder.parent_path())
    if (fs::is_directory(folder / "meson-private", failed)) return folder;
  return {};
}

std::vector<std::string> environment_paths() {
  std::vector<std::string> paths;
  const char* given = getauxval(AT_SECURE) ? nullptr : std::getenv("SWITCHYARD_PLUGIN_PATH");
  std::string rest = given ? given : "";
  while (!rest.empty()) {
    const std::size_t end = std::min(rest.find(':'), rest.size());
    if (end > 0) paths.push_back(rest.substr(0, end));
    rest.erase(0, end + 1);
  }
  return paths;
}

void add(std::vector<SearchFolder>& folders, const fs::path& path, bool named) {
  if (path.empty()) return;
  std::error_code failed;
  fs::path absolute = fs::absolute(path, failed).lexically_normal();
  if (!absolute.has_filename()) absolute = absolute.parent_path();  // "x/" is "x"
  for (const SearchFolder& f : folders)
    if (f.path == absolute) return;
  fs::directory_iterator probe(absolute, failed);
  if (named || !failed) folders.push_back({absolute, !failed, named});
}

}  // namespace

std::vector<SearchFolder> search_folders(const std::vector<std::string>& paths) {
  std::vector<SearchFolder> folders;
  for (const std::string& p : paths) add(folders, p, true);
  for (const std::string& p : environment_paths()) add(folders, p, true);
  const fs::path own = own_folder();
  if (!own.empty()) {
    const fs::path tree = build_tree(own);
    if (!tree.empty()) add(folders, tree / "plugins", false);
    add(folders, own / "switchyard", false);
  }
  return folders;
}

std::vector<std::string> own_folders(const std::string& built, const std::string& installed) {
  const fs::path own = own_folder(), tree = build_tree(own);
  std::vector<std::string> folders;
  std::error_code failed;
  for (const fs::path& folder :
       {tree.empty() ? fs::path() : tree / built, own.empty() ? fs::path() : own / "switchyard" / installed})
    if (fs::is_directory(folder, failed)) folders.push_back(folder);
  return folders;
}

std::vector<std::string> libraries_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed))
    if (at->path().extension() == ".so") files.push_back(at->path());
  std::sort(files.begin(), files.end());
  return files;
}

PluginFileName parse_file_name(const std::string& path) {
  std::string stem = fs::path(path).stem();
  if (!stem.starts_with("sy-")) return {};
  stem.erase(0, 3);
  const std::size_t dash = stem.find('-');
  if (dash == std::string::npos || dash + 1 == stem.size() || !find_kind_by_word(stem.substr(0, dash))) return {};
  return {stem.substr(0, dash), stem.substr(dash + 1)};
}

}  // namespace switchyard
