// Where plugin files are looked for.
#pragma once

#include <string>
#include <vector>

namespace switchyard {

struct SearchFolder {
  std::string path;    // absolute
  bool exists = true;  // and can be read
  bool named = false;  // by the user: files with odd names are mentioned
};

/// In this order: `paths`, SWITCHYARD_PLUGIN_PATH (colons between; ignored in a set-uid process), plugins/ of the build
/// tree that this library lies in, switchyard/ beside this library. Each folder once. [any]
std::vector<SearchFolder> search_folders(const std::vector<std::string>& paths);

/// Where files that come with the program lie: `built` below the top of the Meson build tree that this library lies in,
/// switchyard/`installed` beside this library. Those that exist. [any]
std::vector<std::string> own_folders(const std::string& built, const std::string& installed);

/// Absolute paths of the *.so files in a folder, sorted; none when it cannot be read.
std::vector<std::string> libraries_in(const std::string& folder);

/// sy-KIND-NAME.so, taken apart. Both are empty for other names.
struct PluginFileName {
  std::string word;  // "layer"
  std::string name;  // "linear"
};
PluginFileName parse_file_name(const std::string& path);

}  // namespace switchyard
