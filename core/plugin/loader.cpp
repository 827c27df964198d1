#include "plugin/loader.hpp"

#include <dlfcn.h>
#include <link.h>
#include <sys/stat.h>

#include <cstring>
#include <deque>
#include <filesystem>
#include <mutex>

#include "base/error.hpp"
#include "plugin/host.hpp"
#include "plugin/mapped_torch.hpp"
#include "plugin/shared_library.hpp"

namespace switchyard {
namespace {

struct Record {
  LoadedPlugin plugin;
  const void* symbol = nullptr;  // the sy_plugin itself
  dev_t device = 0;
  ino_t inode = 0;
};

struct Loaded {
  std::recursive_mutex mutex;  // an attach may come back here
  std::deque<Record> records;  // references stay valid
};

Loaded& loaded() {
  static auto* all = new Loaded;  // never destroyed, as what it refers to
  return *all;
}

std::string version_text(std::uint32_t major, std::uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

void check_abi(std::uint32_t major, std::uint32_t minor, const std::string& who) {
  const bool fits = major == SY_ABI_MAJOR && (SY_ABI_MAJOR != 0 || minor == SY_ABI_MINOR);
  if (!fits)
    throw Error(SY_E_ABI, who + " was built for ABI " + version_text(major, minor) + ", this core speaks " +
                              version_text(SY_ABI_MAJOR, SY_ABI_MINOR) + ": build it anew");
}

void check_torch(const PluginNote& note, const std::string& path) {
  if (note.torch.empty()) return;
  for (const MappedTorch& here : mapped_torch())
    if (here.version != note.torch)
      throw Error(SY_E_ABI, path + " was built against LibTorch " + note.torch + ", but LibTorch " +
                                (here.version.empty() ? "of an unknown version" : here.version) +
                                " is in this process already (" + here.path + ")");
}

/// Bytes of the object that a symbol names, by the symbol table; 0: not known.
std::size_t object_bytes(const void* symbol) {
  Dl_info info;
  void* entry = nullptr;
  if (!dladdr1(symbol, &info, &entry, RTLD_DL_SYMENT) || !entry || info.dli_saddr != symbol) return 0;
  return static_cast<const ElfW(Sym)*>(entry)->st_size;
}

/// min(size) of it in a zeroed full-size copy, after every check that needs no call. `who`: the file, for messages.
sy_plugin read_plugin(const void* symbol, const std::string& who) {
  constexpr std::size_t first_release = offsetof(sy_plugin, attach) + sizeof(sy_plugin::attach);
  const std::size_t there = object_bytes(symbol);
  if (there != 0 && there < first_release)
    throw Error(SY_E_ABI, who + ": its symbol " SY_PLUGIN_SYMBOL " has " + std::to_string(there) +
                              " bytes; the first release has " + std::to_string(first_release));
  const auto* theirs = static_cast<const sy_plugin*>(symbol);
  if (theirs->magic != SY_PLUGIN_MAGIC)
    throw Error(SY_E_ABI, who + ": its symbol " SY_PLUGIN_SYMBOL " is no plugin (magic number " +
                              std::to_string(theirs->magic) + ", not " + std::to_string(SY_PLUGIN_MAGIC) + ")");
  check_size(who + ": its symbol " SY_PLUGIN_SYMBOL, theirs->size, first_release);
  if (there != 0 && theirs->size > there)
    throw Error(SY_E_ABI, who + ": its symbol " SY_PLUGIN_SYMBOL " says that it has " + std::to_string(theirs->size) +
                              " bytes, but has " + std::to_string(there));
  sy_plugin copy{};
  std::memcpy(&copy, theirs, std::min<std::size_t>(theirs->size, sizeof(copy)));
  check_abi(copy.abi_major, copy.abi_minor, who);
  if (!copy.id || !*copy.id) throw Error(SY_E_ABI, who + ": its id is missing");
  if (!copy.attach) throw Error(SY_E_ABI, who + ": the mandatory slot 'attach' is empty");
  constexpr std::uint32_t most_exports = 4096;
  if (!copy.exports || copy.n_exports == 0 || copy.n_exports > most_exports)
    throw Error(SY_E_ABI, who + ": it offers nothing (" + std::to_string(copy.n_exports) + " exports)");
  return copy;
}

std::vector<PluginTable> read_tables(const sy_plugin& plugin, const std::string& who) {
  std::vector<PluginTable> tables;
  std::string unknown;
  for (std::uint32_t i = 0; i < plugin.n_exports; ++i) {
    const sy_export& offered = plugin.exports[i];
    if (!offered.kind) throw Error(SY_E_ABI, who + ": export " + std::to_string(i) + " has no kind");
    try {
      auto table = read_table(offered);
      if (!table) {
        unknown += (unknown.empty() ? "" : ", ") + std::string(offered.kind);
        continue;
      }
      for (const PluginTable& t : tables)
        if (t.kind == table->kind && t.id == table->id)
          throw Error(SY_E_ABI, std::string("it offers the ") + t.kind->title + " '" + t.id + "' twice");
      tables.push_back(std::move(*table));
    } catch (const Error& e) {
      throw Error(e.code(), who + ": " + e.what());
    }
  }
  if (tables.empty()) throw Error(SY_E_ABI, who + " offers only what this core does not know: " + unknown);
  return tables;
}

std::string place_of(const LoadedPlugin& plugin) { return plugin.path.empty() ? "the host program" : plugin.path; }

void check_new_id(const std::string& id, const std::string& who) {
  for (const Record& r : loaded().records)
    if (r.plugin.id == id)
      throw Error(SY_E_EXISTS, who + ": the plugin '" + id + "' is there already, loaded from " + place_of(r.plugin));
}

/// Checks and attaches what was found at `symbol`; the lock is held.
const LoadedPlugin& accept(Record record, const std::string& expected_id, const std::string& who) {
  const sy_plugin plugin = read_plugin(record.symbol, who);
  if (!expected_id.empty() && expected_id != plugin.id)
    throw Error(SY_E_ABI,
                who + ": its note says '" + expected_id + "', its symbol " SY_PLUGIN_SYMBOL " '" + plugin.id + "'");
  check_new_id(plugin.id, who);
  record.plugin.id = plugin.id;
  record.plugin.version = plugin.version ? plugin.version : "";
  record.plugin.tables = read_tables(plugin, who);
  try {
    call_plugin([&](sy_error** err) { return plugin.attach(host_table(), err); });
  } catch (const Error& e) {
    Error named(e.code(), who + " refused to start: " + e.what());
    for (const auto& [key, value] : e.notes()) named.note(key, value);
    throw named.note("plugin", plugin.id);
  }
  loaded().records.push_back(std::move(record));
  return loaded().records.back().plugin;
}

}  // namespace

void check_note(const PluginNote& note, const std::string& path) {
  check_abi(note.abi_major, note.abi_minor, path);
  const std::string own = std::to_string(_GLIBCXX_USE_CXX11_ABI);
  if (!note.cxx11abi.empty() && note.cxx11abi != own)
    throw Error(SY_E_ABI, path + " was built with cxx11abi=" + note.cxx11abi + ", this core with cxx11abi=" + own);
  check_torch(note, path);
}

const LoadedPlugin& load_plugin(const std::string& given_path) {
  const std::string path = std::filesystem::absolute(given_path).lexically_normal();
  const std::lock_guard lock(loaded().mutex);
  struct stat s {};
  const bool exists = stat(path.c_str(), &s) == 0;
  for (const Record& r : loaded().records)
    if (exists && !r.plugin.path.empty() && r.device == s.st_dev && r.inode == s.st_ino) return r.plugin;

  const PluginNote note = read_plugin_note(path);
  check_note(note, path);
  check_new_id(note.id, path);
  const SharedLibrary library = SharedLibrary::open(path);
  check_torch(note, path);  // again: it may have brought one along
  const void* symbol = library.symbol(SY_PLUGIN_SYMBOL);
  if (!symbol) throw Error(SY_E_ABI, path + " does not export the symbol " SY_PLUGIN_SYMBOL);
  Record record;
  record.plugin.path = path;
  record.symbol = symbol;
  record.device = s.st_dev;
  record.inode = s.st_ino;
  return accept(std::move(record), note.id, path);
}

const LoadedPlugin& adopt_plugin(const sy_plugin* plugin) {
  const std::string who = "a plugin of the host program";
  if (!plugin) throw Error(SY_E_ARGUMENT, who + ": its table is missing");
  const std::lock_guard lock(loaded().mutex);
  for (const Record& r : loaded().records)
    if (r.symbol == plugin) return r.plugin;
  Record record;
  record.symbol = plugin;
  return accept(std::move(record), "", who);
}

std::string plugin_of_table(const void* table) {
  const std::lock_guard lock(loaded().mutex);
  for (const Record& r : loaded().records)
    for (const PluginTable& t : r.plugin.tables)
      if (t.table == table) return r.plugin.id;
  return "";
}

}  // namespace switchyard
