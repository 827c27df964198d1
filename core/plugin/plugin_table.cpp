#include "plugin/plugin_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "base/error.hpp"
#include "plugin/table_rule.hpp"

namespace switchyard {
namespace {

constexpr std::uint32_t most_table_bytes = 1 << 16;
constexpr std::size_t most_id_letters = 128;

/// What every table begins with; the layout test watches over it.
struct TableHead {
  std::uint32_t size;
  std::uint32_t caps;
  const char* id;
  const char* help;
};
static_assert(offsetof(TableHead, id) == offsetof(sy_layer_api, id) &&
              offsetof(TableHead, help) == offsetof(sy_backend_api, help));

std::string checked_id(const char* id, const std::string& what) {
  const std::size_t letters = id ? strnlen(id, most_id_letters + 1) : 0;
  if (letters == 0 || letters > most_id_letters)
    throw Error(SY_E_ABI, what + (letters ? ": its id is longer than " + std::to_string(most_id_letters) + " letters"
                                          : ": its id is missing"));
  const std::string text(id, letters);
  if (std::any_of(text.begin(), text.end(), [](char c) { return c <= ' ' || c > '~'; }))
    throw Error(SY_E_ABI, what + ": its id may hold letters, digits and punctuation only");
  return text;
}

void fill_slots(char* table, std::span<const SlotRule> slots) {
  for (const SlotRule& slot : slots) {
    AnyFunction function = nullptr;
    std::memcpy(&function, table + slot.offset, sizeof(function));
    if (function) continue;
    if (!slot.stub) throw Error(SY_E_ABI, std::string("the mandatory slot '") + slot.name + "' is empty");
    std::memcpy(table + slot.offset, &slot.stub, sizeof(slot.stub));
  }
}

}  // namespace

std::span<const PluginKind> plugin_kinds() {
  static const PluginKind kinds[] = {{SY_KIND_LAYER, "layer", "layer type", &layer_rule()},
                                     {SY_KIND_POLICY, "policy", "placement policy", &policy_rule()},
                                     {SY_KIND_SCHEDULE, "schedule", "schedule", &schedule_rule()},
                                     {SY_KIND_OPTIMIZER, "optimizer", "optimizer", &optimizer_rule()},
                                     {SY_KIND_BACKEND, "backend", "backend", &backend_rule()},
                                     {SY_KIND_COMM, "comm", "communicator", &comm_rule()}};
  return kinds;
}

const PluginKind* find_kind(const std::string& kind) {
  for (const PluginKind& k : plugin_kinds())
    if (kind == k.kind) return &k;
  return nullptr;
}

const PluginKind* find_kind_by_word(const std::string& word) {
  for (const PluginKind& k : plugin_kinds())
    if (word == k.word) return &k;
  return nullptr;
}

void check_size(const std::string& what, std::uint32_t claimed, std::size_t first_release) {
  const std::string both = what + " says that it has " + std::to_string(claimed) + " bytes; ";
  if (claimed < first_release) throw Error(SY_E_ABI, both + "the first release has " + std::to_string(first_release));
  if (claimed % sizeof(void*) != 0)
    throw Error(SY_E_ABI, both + "that is no multiple of a slot's " + std::to_string(sizeof(void*)) +
                              " (the first release has " + std::to_string(first_release) + ")");
  if (claimed > most_table_bytes)
    throw Error(SY_E_ABI, both + "more than " + std::to_string(most_table_bytes) +
                              " cannot be (the first release has " + std::to_string(first_release) + ")");
}

std::optional<PluginTable> read_table(const sy_export& offered) {
  const PluginKind* kind = find_kind(offered.kind);
  if (!kind) return std::nullopt;
  return read_table(*kind, offered.table);
}

PluginTable read_table(const PluginKind& kind, const void* given) {
  const std::string what = std::string("its table ") + kind.kind;
  if (!given) throw Error(SY_E_ABI, what + " is missing");
  const auto* theirs = static_cast<const TableHead*>(given);
  check_size(what, theirs->size, kind.rule->first_size);

  // Zeroed, which the gaps inside of larger elements would not be.
  const auto copy = std::make_shared<std::uintptr_t[]>(kind.rule->full_size / sizeof(std::uintptr_t) + 1);
  const auto size = static_cast<std::uint32_t>(kind.rule->full_size);
  std::memcpy(copy.get(), theirs, std::min(theirs->size, size));
  auto* head = reinterpret_cast<TableHead*>(copy.get());
  head->size = size;
  PluginTable table{&kind, checked_id(head->id, what), copy.get(), copy};
  if (!head->help) head->help = "";
  try {
    kind.rule->check(copy.get());
    fill_slots(reinterpret_cast<char*>(copy.get()), kind.rule->slots);
  } catch (const Error& e) {
    throw Error(e.code(), std::string(kind.word) + " '" + table.id + "': " + e.what());
  }
  return table;
}

}  // namespace switchyard
