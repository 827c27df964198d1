#include "plugin/plugin_table.hpp"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"

namespace switchyard {

using AnyFunction = void (*)();

/// A function pointer of a table. stub: what an empty optional slot is filled with; NULL: mandatory.
struct SlotRule {
  const char* name;
  std::size_t offset;
  AnyFunction stub;
};

struct TableRule {
  std::size_t first_size;  // of the first release
  std::size_t full_size;   // as this core knows it
  std::span<const SlotRule> slots;
  /// The published options, and what else only the table's own type can tell; `table` is full-size.
  void (*check)(const void* table);
};

namespace {

constexpr std::uint32_t most_table_bytes = 1 << 16;
constexpr std::size_t most_id_letters = 128;

template <class Slot>
struct Stub;
template <class... A>
struct Stub<sy_rc (*)(A...)> {
  static sy_rc call(A... arguments) {
    sy_error** err = std::get<sizeof...(A) - 1>(std::tie(arguments...));
    return host_table()->fail(nullptr, err, SY_E_UNIMPLEMENTED, "this plugin does not offer it");
  }
};
template <class... A>
struct Stub<void (*)(A...)> {
  static void call(A...) {}
};
template <class... A>
struct Stub<const void* (*)(A...)> {
  static const void* call(A...) { return nullptr; }
};
/// A layer that has nothing to finish has finished.
sy_rc finish_nothing(sy_layer*, const sy_call*, sy_error**) { return SY_OK; }

template <class Function>
AnyFunction any(Function* f) {
  return reinterpret_cast<AnyFunction>(f);
}

#define MANDATORY(slot) \
  { #slot, offsetof(Api, slot), nullptr }
#define OPTIONAL(slot) \
  { #slot, offsetof(Api, slot), any(Stub<decltype(Api::slot)>::call) }
#define SIZE_UP_TO(slot) (offsetof(Api, slot) + sizeof(Api::slot))

template <class Table>
void check_options_of(const void* table) {
  check_defaults(options_of(*static_cast<const Table*>(table)));
}

/// A capability bit promises slots.
void check_promise(bool promised, bool kept, const char* bit, const char* slots) {
  if (promised && !kept) throw Error(SY_E_ABI, std::string(bit) + " is set, but " + slots + " is empty");
}

const TableRule& layer_rule() {
  using Api = sy_layer_api;
  static const SlotRule slots[] = {
      MANDATORY(create),   MANDATORY(infer),         MANDATORY(params),          MANDATORY(cost),
      MANDATORY(bind),     MANDATORY(forward),       MANDATORY(backward),        OPTIONAL(backward_input),
      OPTIONAL(backward_weight), {"finish", offsetof(Api, finish), any(finish_nothing)}, MANDATORY(free_saved),
      MANDATORY(destroy),  OPTIONAL(get)};
  static const TableRule rule{SIZE_UP_TO(get), sizeof(Api), slots, [](const void* table) {
                                check_options_of<Api>(table);
                                const Api& t = *static_cast<const Api*>(table);
                                const bool whole = t.backward_input != Stub<decltype(Api::backward_input)>::call &&
                                                   t.backward_weight != Stub<decltype(Api::backward_weight)>::call;
                                check_promise(t.caps & SY_L_SPLIT_BACKWARD, whole, "SY_L_SPLIT_BACKWARD",
                                              "backward_input or backward_weight");
                              }};
  return rule;
}

const TableRule& policy_rule() {
  using Api = sy_policy_api;
  static const SlotRule slots[] = {MANDATORY(create), MANDATORY(place), MANDATORY(destroy)};
  static const TableRule rule{SIZE_UP_TO(destroy), sizeof(Api), slots, check_options_of<Api>};
  return rule;
}

const TableRule& schedule_rule() {
  using Api = sy_schedule_api;
  static const SlotRule slots[] = {MANDATORY(create), MANDATORY(plan), MANDATORY(destroy)};
  static const TableRule rule{SIZE_UP_TO(destroy), sizeof(Api), slots, check_options_of<Api>};
  return rule;
}

const TableRule& optimizer_rule() {
  using Api = sy_optimizer_api;
  static const SlotRule slots[] = {MANDATORY(create), MANDATORY(states), MANDATORY(step), MANDATORY(norms),
                                   MANDATORY(destroy)};
  static const TableRule rule{SIZE_UP_TO(destroy), sizeof(Api), slots, check_options_of<Api>};
  return rule;
}

const TableRule& backend_rule() {
  using Api = sy_backend_api;
  static const SlotRule slots[] = {
      MANDATORY(open),         MANDATORY(close),        MANDATORY(device),        MANDATORY(enter),
      MANDATORY(leave),        MANDATORY(alloc),        MANDATORY(free),          MANDATORY(host_alloc),
      MANDATORY(host_free),    MANDATORY(stream_new),   MANDATORY(stream_free),   MANDATORY(stream_native),
      MANDATORY(stream_wait),  MANDATORY(stream_sync),  MANDATORY(event_new),     MANDATORY(event_free),
      MANDATORY(event_record), MANDATORY(event_sync),   MANDATORY(event_ready),   MANDATORY(event_seconds),
      MANDATORY(copy),         MANDATORY(cast),         MANDATORY(fill_zero),     MANDATORY(accumulate),
      OPTIONAL(capture_begin), OPTIONAL(capture_end),   OPTIONAL(graph_launch),   OPTIONAL(graph_free),
      OPTIONAL(get)};
  static const TableRule rule{SIZE_UP_TO(get), sizeof(Api), slots, [](const void* table) {
                                check_options_of<Api>(table);
                                const Api& t = *static_cast<const Api*>(table);
                                const bool whole = t.capture_begin != Stub<decltype(Api::capture_begin)>::call &&
                                                   t.capture_end != Stub<decltype(Api::capture_end)>::call &&
                                                   t.graph_launch != Stub<decltype(Api::graph_launch)>::call &&
                                                   t.graph_free != Stub<decltype(Api::graph_free)>::call;
                                check_promise(t.caps & SY_B_CAPTURE, whole, "SY_B_CAPTURE",
                                              "capture_begin, capture_end, graph_launch or graph_free");
                              }};
  return rule;
}

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
                                     {SY_KIND_BACKEND, "backend", "backend", &backend_rule()}};
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
  if (claimed < first_release)
    throw Error(SY_E_ABI, both + "the first release has " + std::to_string(first_release));
  if (claimed % sizeof(void*) != 0)
    throw Error(SY_E_ABI, both + "that is no multiple of a slot's " + std::to_string(sizeof(void*)) +
                              " (the first release has " + std::to_string(first_release) + ")");
  if (claimed > most_table_bytes)
    throw Error(SY_E_ABI, both + "more than " + std::to_string(most_table_bytes) + " cannot be (the first release has " +
                              std::to_string(first_release) + ")");
}

std::optional<PluginTable> read_table(const sy_export& offered) {
  const PluginKind* kind = find_kind(offered.kind);
  if (!kind) return std::nullopt;
  const std::string what = std::string("its table ") + kind->kind;
  if (!offered.table) throw Error(SY_E_ABI, what + " is missing");
  const auto* theirs = static_cast<const TableHead*>(offered.table);
  check_size(what, theirs->size, kind->rule->first_size);

  auto copy = std::make_unique<std::max_align_t[]>(kind->rule->full_size / sizeof(std::max_align_t) + 1);  // zeroed
  const auto size = static_cast<std::uint32_t>(kind->rule->full_size);
  std::memcpy(copy.get(), theirs, std::min(theirs->size, size));
  auto* head = reinterpret_cast<TableHead*>(copy.get());
  head->size = size;
  PluginTable table{kind, checked_id(head->id, what), copy.get()};
  if (!head->help) head->help = "";
  try {
    fill_slots(reinterpret_cast<char*>(copy.get()), kind->rule->slots);
    kind->rule->check(copy.get());
  } catch (const Error& e) {
    throw Error(e.code(), std::string(kind->word) + " '" + table.id + "': " + e.what());
  }
  copy.release();  // lives as long as the process
  return table;
}

}  // namespace switchyard
