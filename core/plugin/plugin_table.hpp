// The tables that plugins offer, read by the rules of base.h: min(size) into a full-size copy, mandatory slots checked,
// empty optional ones filled with stubs.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "switchyard/plugin.h"

namespace switchyard {

struct TableRule;

/// One kind of plugin that this core knows.
struct PluginKind {
  const char* kind;   // SY_KIND_LAYER
  const char* word;   // "layer": as in a file's name, sy-layer-NAME.so
  const char* title;  // "layer type": as in messages
  const TableRule* rule;
};
std::span<const PluginKind> plugin_kinds();
/// nullptr: not known.
const PluginKind* find_kind(const std::string& kind);
const PluginKind* find_kind_by_word(const std::string& word);

/// A checked copy of one table. Those of loaded plugins live as long as the process.
struct PluginTable {
  const PluginKind* kind = nullptr;
  std::string id;
  const void* table = nullptr;         // sy_layer_api, ... as this core knows it
  std::shared_ptr<const void> memory;  // of the table
};

/// Reads what one export points to; nothing when this core does not know the kind. Throws Error(SY_E_ABI): a size that
/// cannot be, a mandatory slot or the id is missing, or an option that contradicts itself. [any]
std::optional<PluginTable> read_table(const sy_export& offered);
/// The same of a kind that is known; lent. [any]
PluginTable read_table(const PluginKind& kind, const void* table);

/// Sizes as a plugin claims them: at least the first release's, a multiple of a slot, believable. Throws
/// Error(SY_E_ABI) naming both.
void check_size(const std::string& what, std::uint32_t claimed, std::size_t first_release);

}  // namespace switchyard
