// Tables of plugins, by the rules of base.h.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstring>

#include "../../support/text.hpp"
#include "base/error.hpp"
#include "plugin/plugin_table.hpp"
#include "plugin/table_rule.hpp"

using namespace switchyard;
using switchyard::test::contains;

namespace {

/// A layer table whose mandatory slots hold something; nothing calls them.
struct LongTable {
  sy_layer_api api{};
  void (*later)() = nullptr;  // what a later release appended
  LongTable() {
    const auto filler = +[] {};
    for (std::size_t at = offsetof(sy_layer_api, create); at < sizeof(api); at += sizeof(filler))
      std::memcpy(reinterpret_cast<char*>(&api) + at, &filler, sizeof(filler));
    api.size = sizeof(api);
    api.id = "scale";
    api.backward_input = nullptr;
    api.backward_weight = nullptr;
    api.finish = nullptr;
    api.get = nullptr;
  }
};

std::string refusal(const LongTable& t) {
  try {
    read_table({SY_KIND_LAYER, &t.api});
  } catch (const Error& e) {
    CHECK(e.code() == SY_E_ABI);
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("empty optional slots are filled with stubs, the help with an empty text") {
  const LongTable t;
  const auto table = read_table({SY_KIND_LAYER, &t.api});
  REQUIRE(table);
  CHECK(table->id == "scale");
  const auto& api = *static_cast<const sy_layer_api*>(table->table);
  CHECK(api.size == sizeof(sy_layer_api));
  CHECK(std::string(api.help).empty());
  CHECK(api.backward_input(nullptr, nullptr, nullptr, nullptr) == SY_E_UNIMPLEMENTED);
  CHECK(api.finish(nullptr, nullptr, nullptr) == SY_OK);
  CHECK(api.get(nullptr, "x") == nullptr);
  CHECK((api.forward == t.api.forward));
}

TEST_CASE("a longer table works, by whatever was appended") {
  LongTable t;
  t.api.size = sizeof(LongTable);
  CHECK(refusal(t) == "");
  t.api.size = sizeof(sy_layer_api) + 80 * sizeof(void*);  // only what this core knows is ever read
  CHECK(refusal(t) == "");
}

namespace {

/// The layer table of a later release: two slots more, of which each may be empty.
struct LaterTable {
  sy_layer_api api;
  sy_rc (*later)(sy_layer*, sy_error**);
  const void* (*latest)(sy_layer*);
};

const SlotRule later_slots[] = {
    {"later", offsetof(LaterTable, later),
     reinterpret_cast<AnyFunction>(+[](sy_layer*, sy_error**) -> sy_rc { return SY_E_UNIMPLEMENTED; })},
    {"latest", offsetof(LaterTable, latest),
     reinterpret_cast<AnyFunction>(+[](sy_layer*) -> const void* { return nullptr; })}};
const TableRule later_rule{sizeof(sy_layer_api), sizeof(LaterTable), later_slots, [](const void*) {}};
const PluginKind later_kind{SY_KIND_LAYER, "layer", "layer type", &later_rule};

}  // namespace

TEST_CASE("a shorter table, of a plugin from before slots were added, works: they are stubs, not what lies behind it") {
  for (const std::size_t size : {sizeof(sy_layer_api), sizeof(sy_layer_api) + sizeof(void*)}) {
    LongTable t;
    t.later = +[] {};
    t.api.size = static_cast<std::uint32_t>(size);
    const PluginTable table = read_table(later_kind, &t.api);
    const auto& read = *static_cast<const LaterTable*>(table.table);
    CHECK(read.api.size == sizeof(LaterTable));
    CHECK((read.api.forward == t.api.forward));
    const bool has_later = size > sizeof(sy_layer_api);
    if (!has_later) CHECK(read.later(nullptr, nullptr) == SY_E_UNIMPLEMENTED);
    CHECK((reinterpret_cast<AnyFunction>(read.later) == later_slots[0].stub) != has_later);
    CHECK(read.latest(nullptr) == nullptr);
  }
}

TEST_CASE("sizes that cannot be are refused, naming both") {
  LongTable t;
  const std::string first = std::to_string(sizeof(sy_layer_api));
  for (std::uint32_t size : {0u, 8u, std::uint32_t(sizeof(sy_layer_api)) - 8, std::uint32_t(sizeof(sy_layer_api)) + 4,
                             0x80000000u, 0xFFFFFFFFu}) {
    t.api.size = size;
    const std::string text = refusal(t);
    CHECK(contains(text, " " + std::to_string(size) + " bytes"));
    CHECK(contains(text, first));
  }
}

TEST_CASE("a missing mandatory slot, id or promise is named") {
  LongTable slot, id, promise, space;
  slot.api.forward = nullptr;
  CHECK(contains(refusal(slot), "'forward'"));
  id.api.id = nullptr;
  CHECK(contains(refusal(id), "id"));
  space.api.id = "two words";
  CHECK(contains(refusal(space), "id"));
  promise.api.caps = SY_L_SPLIT_BACKWARD;
  CHECK(contains(refusal(promise), "SY_L_SPLIT_BACKWARD"));
}

TEST_CASE("options are checked when the table is read") {
  LongTable t;
  t.api.n_options = 3;
  CHECK(contains(refusal(t), "options"));
}

TEST_CASE("kinds: what is not known is not read") {
  CHECK_FALSE(read_table({"sy.layer/99", nullptr}));
  CHECK_THROWS_AS(read_table({SY_KIND_LAYER, nullptr}), Error);
  CHECK(find_kind_by_word("policy") == find_kind(SY_KIND_POLICY));
  CHECK(find_kind_by_word("layers") == nullptr);
}

TEST_CASE("a communicator must have every slot but get") {
  sy_comm_api api{};
  const auto filler = +[] {};
  const std::size_t first = offsetof(sy_comm_api, make_id);
  for (std::size_t at = first; at < offsetof(sy_comm_api, get); at += sizeof(filler))
    std::memcpy(reinterpret_cast<char*>(&api) + at, &filler, sizeof(filler));
  api.size = sizeof(api);
  api.id = "pigeon";
  const auto table = read_table({SY_KIND_COMM, &api});
  REQUIRE(table);
  CHECK(static_cast<const sy_comm_api*>(table->table)->get(nullptr, "x") == nullptr);
  for (std::size_t at = first; at < offsetof(sy_comm_api, get); at += sizeof(filler)) {
    CAPTURE(at);
    sy_comm_api lacking = api;
    std::memset(reinterpret_cast<char*>(&lacking) + at, 0, sizeof(filler));
    CHECK_THROWS_AS(read_table({SY_KIND_COMM, &lacking}), Error);
  }
}
