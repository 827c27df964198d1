// Plugins that do one thing wrong: each ends in an error that names it, none ends the process.
#include <dlfcn.h>
#include <doctest/doctest.h>

#include "../../support/text.hpp"
#include "base/error.hpp"
#include "folder.hpp"
#include "load_error.hpp"
#include "plugin/host.hpp"

using namespace switchyard;
using switchyard::test::contains;

namespace {

struct Refused {
  const char* name;
  std::vector<std::string> parts;  // of the text
  sy_rc code = SY_E_ABI;
};

void check_refused(const Refused& r) {
  const Error e = load_error(hostile(r.name));
  CHECK_MESSAGE(e.code() == r.code, r.name << " -> " << e.what());
  CHECK_MESSAGE(contains(e.what(), std::string("sy-schedule-") + r.name + ".so"), e.what());
  for (const std::string& part : r.parts) CHECK_MESSAGE(contains(e.what(), part), part << " in: " << e.what());
}

const sy_schedule_api& schedule_of(const LoadedPlugin& plugin, std::size_t number = 0) {
  return *static_cast<const sy_schedule_api*>(plugin.tables.at(number).table);
}

Error create_error(const sy_schedule_api& api) {
  try {
    sy_schedule* made = nullptr;
    call_plugin([&](sy_error** err) { return api.create(host_table(), nullptr, &made, err); });
  } catch (const Error& e) {
    return e;
  }
  return Error(SY_OK, "created");
}

const std::string first_plugin = std::to_string(sizeof(sy_plugin)),
                  first_table = std::to_string(sizeof(sy_schedule_api));

}  // namespace

TEST_CASE("a plugin that does nothing wrong is loaded, once") {
  const LoadedPlugin& p = load_plugin(hostile("good"));
  CHECK(p.id == "test.hostile.good");
  CHECK(p.version == "1.0");
  REQUIRE(p.tables.size() == 1);
  CHECK(p.tables[0].id == "good");
  CHECK(&load_plugin(hostile("good")) == &p);
  CHECK(plugin_of_table(p.tables[0].table) == p.id);
  CHECK(plugin_of_table(&p).empty());
}

TEST_CASE("a table that is one field longer, and a note with later words, work") {
  CHECK(schedule_of(load_plugin(hostile("longer-table"))).size == sizeof(sy_schedule_api));
  CHECK(load_plugin(hostile("other-release")).tables.size() == 1);
}

TEST_CASE("the symbol: missing, magic, sizes") {
  check_refused({"no-symbol", {"sy_plugin_v1"}});
  check_refused({"wrong-magic", {"magic", std::to_string(0x12345678), std::to_string(SY_PLUGIN_MAGIC)}});
  check_refused({"next-major", {"ABI 1.1", "0.1"}});
  check_refused({"size-zero", {" 0 bytes", first_plugin}});
  check_refused({"size-odd", {std::to_string(sizeof(sy_plugin) + 3), first_plugin}});
  check_refused({"size-huge", {std::to_string(0xFFFFFFF8u), first_plugin}});
  check_refused({"size-lies", {std::to_string(sizeof(sy_plugin) + 8), first_plugin}});
}

TEST_CASE("tables: sizes, mandatory slots, ids, options, kinds") {
  check_refused({"table-zero", {"sy.schedule/0", " 0 bytes", first_table}});
  check_refused({"table-short", {std::to_string(sizeof(sy_schedule_api) - 8), first_table}});
  check_refused({"table-odd", {std::to_string(sizeof(sy_schedule_api) + 4), first_table}});
  check_refused({"table-huge", {std::to_string(0xFFFFFFF8u), first_table}});
  check_refused({"table-no-id", {"sy.schedule/0", "id"}});
  check_refused({"slot-missing", {"schedule 'slot-missing'", "'plan'"}});
  check_refused({"default-misfit", {"schedule 'default-misfit'", "chunks"}});
  check_refused({"nothing", {"nothing"}});
  check_refused({"unknown-kind", {"sy.teapot/1"}});
}

TEST_CASE("attach: missing, failing, throwing, answering a code that does not exist") {
  check_refused({"attach-missing", {"'attach'"}});
  check_refused({"attach-fails", {"no licence for this machine"}, SY_E_UNAVAILABLE});
  check_refused({"attach-4711", {"4711"}, SY_E_INTERNAL});
  check_refused({"attach-throws", {"exception"}, SY_E_UNKNOWN});
  check_refused({"attach-fails", {"no licence"}, SY_E_UNAVAILABLE});  // and a second time
}

TEST_CASE("the dynamic linker's words are kept") { check_refused({"undefined", {"nobody_defines_this"}}); }

TEST_CASE("what the note gives away is refused before any code runs: these abort when they are loaded") {
  check_refused({"abi-next-major", {"ABI 1.0", "0.1"}});
  check_refused({"abi-next-minor", {"ABI 0.2", "0.1"}});
  check_refused({"other-cxx11abi", {"cxx11abi=0", "cxx11abi=1"}});
  check_refused({"note-missing", {"no Switchyard plugin"}});
  check_refused({"note-garbage", {"garbled", "hello world"}});
  check_refused({"note-twice", {"garbled", "abi"}});
}

TEST_CASE("another LibTorch in the process is an error with both versions, before any code runs") {
  void* torch = dlopen((hostile_folder() + "/libtorch_cpu.so").c_str(), RTLD_NOW | RTLD_LOCAL);
  REQUIRE(torch);
  const Error e = load_error(hostile_folder() + "/torch-other.so");
  CHECK(e.code() == SY_E_ABI);
  for (const char* part : {"torch-other.so", "LibTorch 2.10", "LibTorch 2.11", "libtorch_cpu.so"})
    CHECK(contains(e.what(), part));
  CHECK(load_plugin(hostile_folder() + "/torch-same.so").tables.size() == 1);
  dlclose(torch);
}

TEST_CASE("note and symbol must name the same plugin") {
  check_refused({"note-other-id", {"test.hostile.somebody", "test.hostile.note-other-id"}});
}

TEST_CASE("one id from two files is an error that names both; one file under two names is one plugin") {
  const LoadedPlugin& good = load_plugin(hostile("good"));
  check_refused({"same-id", {hostile("good"), hostile("same-id")}, SY_E_EXISTS});
  const Folder f;
  std::filesystem::create_symlink(hostile("good"), f.at("sy-schedule-link.so"));
  std::filesystem::create_symlink(f.at("sy-schedule-link.so"), f.at("sy-schedule-link-to-link.so"));
  CHECK(&load_plugin(f.at("sy-schedule-link.so")) == &good);
  CHECK(&load_plugin(f.at("sy-schedule-link-to-link.so")) == &good);
  std::filesystem::copy(hostile("good"), f.at("sy-schedule-copy.so"));
  const Error e = load_error(f.at("sy-schedule-copy.so"));
  CHECK(e.code() == SY_E_EXISTS);
  CHECK(contains(e.what(), hostile("good")));
  CHECK(contains(e.what(), f.at("sy-schedule-copy.so")));
}

TEST_CASE("exceptions that leave create end in errors; the next call works") {
  const LoadedPlugin& p = load_plugin(hostile("throws"));
  CHECK(contains(create_error(schedule_of(p, 0)).what(), "thrown by create"));
  CHECK(create_error(schedule_of(p, 1)).code() == SY_E_UNKNOWN);
  CHECK(create_error(schedule_of(p, 2)).code() == SY_E_NO_MEMORY);
  CHECK(contains(create_error(schedule_of(p, 0)).what(), "thrown by create"));
}

TEST_CASE("the SDK's guard turns them into codes and texts") {
  const LoadedPlugin& p = load_plugin(hostile("guarded"));
  CHECK(contains(create_error(schedule_of(p, 0)).what(), "thrown by create"));
  CHECK(create_error(schedule_of(p, 1)).code() == SY_E_UNKNOWN);
  CHECK(create_error(schedule_of(p, 2)).code() == SY_E_INFEASIBLE);
}

TEST_CASE("a code that does not exist is named") {
  const sy_schedule_api& api = schedule_of(load_plugin(hostile("good")));
  try {
    call_plugin([&](sy_error** err) { return api.plan(nullptr, nullptr, err); });
    FAIL("it went through");
  } catch (const Error& e) {
    CHECK(e.code() == SY_E_INTERNAL);
    CHECK(contains(e.what(), "4711"));
  }
}
