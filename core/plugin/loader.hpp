// Plugins of this process: loaded once, never unloaded, shared by all runtimes.
#pragma once

#include <string>
#include <vector>

#include "plugin/elf_note.hpp"
#include "plugin/plugin_table.hpp"

namespace switchyard {

struct LoadedPlugin {
  std::string id;
  std::string version;
  std::string path;  // as it was first loaded; empty: it lives in the host program
  std::vector<PluginTable> tables;
};

/// Loads a file, or returns the plugin that was loaded from it before under whatever name. In this order, each with an
/// error that names the file and both values: note, ABI, string ABI, LibTorch (all before any code of the file runs),
/// the dynamic linker, symbol, magic, sizes, mandatory slots, attach. Throws Error: SY_E_NOT_FOUND, SY_E_DENIED,
/// SY_E_ABI, SY_E_EXISTS (the id was loaded from another file; names both), or attach's own code. What it returns lives
/// as long as the process. [any]
const LoadedPlugin& load_plugin(const std::string& path);

/// The same for a table within the host program.
const LoadedPlugin& adopt_plugin(const sy_plugin* plugin);

/// Whether a note fits this core and what is mapped in the process. Throws Error(SY_E_ABI) that begins with the path.
void check_note(const PluginNote& note, const std::string& path);

/// Id of the plugin that a table came from; "" when it is none of ours. [any]
std::string plugin_of_table(const void* table);

}  // namespace switchyard
