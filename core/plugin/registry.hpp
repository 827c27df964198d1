// What one runtime may use: layer types, policies, schedules, optimizers, backends and communicators, found in plugin
// files or registered by the host program.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "switchyard/plugin.h"

namespace switchyard {

/// One file that was looked at, and what became of it.
struct PluginCandidate {
  std::string path;
  std::string id;                     // from its note, when it has one
  std::string state;                  // "loaded", "found" (not needed yet) or "skipped"
  std::string reason;                 // why it was skipped; when loaded: what of it others provide
  std::vector<std::string> provides;  // "layer linear", "policy contiguous", ... when loaded
};

/// Search order: files named by the user (`load`), folders named by the user (`paths`), SWITCHYARD_PLUGIN_PATH (ignored
/// in a set-uid process), the folders beside the library (build tree) and <libdir>/switchyard. A file's name
/// sy-KIND-NAME.so says which kind it holds, so that only what is needed is opened. Files stay loaded for the life of
/// the process. [ctl]
class Registry {
 public:
  /// Reads the folders and the notes of the files in them; opens only the files in `load` (paths, or bare names to be
  /// searched for), whose failures are errors: SY_E_ABI, SY_E_NOT_FOUND, SY_E_DENIED, SY_E_EXISTS (two plugins of one
  /// id, or two named ones that offer the same; names both).
  Registry(const std::vector<std::string>& load, const std::vector<std::string>& paths);
  ~Registry();
  Registry(const Registry&) = delete;
  Registry& operator=(const Registry&) = delete;

  /// Loads one file now; throws with the reason, as the constructor does. Loading it twice is fine.
  void load(const std::string& path);
  /// Adds a table that lives in the host program.
  void add(const sy_plugin* plugin);

  /// Tables by name; optional slots are never NULL (stubs answer SY_E_UNIMPLEMENTED, `get` answers NULL), except that a
  /// layer's empty finish answers SY_OK. Whether a layer splits its backward is said by its caps. Unknown: SY_E_CONFIG
  /// that lists the known names, the nearest one and the folders searched; the file's own error (SY_E_ABI ...) when one
  /// of that very name does not fit. The tables live as long as the process.
  const sy_layer_api& layer(const std::string& id);
  const sy_policy_api& policy(const std::string& id);
  const sy_schedule_api& schedule(const std::string& id);
  const sy_optimizer_api& optimizer(const std::string& id);
  const sy_backend_api& backend(const std::string& id);
  const sy_comm_api& comm(const std::string& id);
  /// Nullptr in place of an error, e.g. to find out whether a backend is there.
  const sy_backend_api* find_backend(const std::string& id);
  bool has(const std::string& kind, const std::string& id);  // kind: SY_KIND_*

  /// Names of everything of a kind, sorted; loads every file that may hold one.
  std::vector<std::string> names(const std::string& kind);
  const std::vector<PluginCandidate>& candidates() const;
  std::vector<std::string> searched() const;
  /// Id of the plugin that a table came from, for error notes.
  std::string plugin_of(const void* table) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
