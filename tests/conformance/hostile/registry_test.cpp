// What one runtime finds: search order, lookups, and what it says when there is nothing.
#include "plugin/registry.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

#include "../../support/text.hpp"
#include "base/error.hpp"
#include "folder.hpp"

using namespace switchyard;
using switchyard::test::contains;

namespace {

Error error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    return e;
  }
  return Error(SY_OK, "none");
}

const PluginCandidate& candidate(const Registry& r, const std::string& path) {
  for (const PluginCandidate& c : r.candidates())
    if (c.path == path) return c;
  throw std::runtime_error("no candidate " + path);
}

sy_rc attach(const sy_host*, sy_error**) { return SY_OK; }
sy_rc create(const sy_host*, const sy_config*, sy_schedule**, sy_error**) { return SY_OK; }
sy_rc plan(sy_schedule*, const sy_schedule_in*, sy_error**) { return SY_OK; }
void destroy(sy_schedule*) {}
constexpr sy_schedule_api own_table{
    sizeof(sy_schedule_api), 0, "own", "of the program", nullptr, 0, 0, create, plan, destroy};
constexpr sy_schedule_api own_good{
    sizeof(sy_schedule_api), 0, "good", "of the program", nullptr, 0, 0, create, plan, destroy};
constexpr sy_export own_exports[] = {{SY_KIND_SCHEDULE, &own_table}, {SY_KIND_SCHEDULE, &own_good}};
constexpr sy_plugin own_plugin{SY_PLUGIN_MAGIC, sizeof(sy_plugin), 0, 1, "test.own", "1", own_exports, 2, 0, attach};

}  // namespace

TEST_CASE("a lookup opens the file of that name and no other") {
  Registry r({}, {hostile_folder()});
  CHECK(std::string(r.schedule("longer-table").id) == "longer-table");
  CHECK(candidate(r, hostile("longer-table")).state == "loaded");
  CHECK(candidate(r, hostile("longer-table")).provides == std::vector<std::string>{"schedule longer-table"});
  CHECK(candidate(r, hostile("good")).state == "found");
  CHECK(candidate(r, hostile("good")).id == "test.hostile.good");
  CHECK(candidate(r, hostile("abi-next-major")).state == "skipped");
  CHECK(candidate(r, hostile("abi-next-major")).reason.starts_with("was built for ABI 1.0"));
  CHECK(r.plugin_of(&r.schedule("longer-table")) == "test.hostile.longer-table");
}

TEST_CASE("a name that no file carries is found in whatever file offers it") {
  Registry r({}, {hostile_folder()});
  CHECK(std::string(r.schedule("throws-int").id) == "throws-int");
  CHECK(r.has(SY_KIND_SCHEDULE, "guarded-std"));
  CHECK_FALSE(r.has(SY_KIND_LAYER, "guarded-std"));
  CHECK_FALSE(r.has("sy.teapot/1", "guarded-std"));
  CHECK(r.find_backend("no-such-machine") == nullptr);
}

TEST_CASE("an unknown name: the nearest one, the known ones, the folders searched") {
  Registry r({}, {hostile_folder(), "/nowhere/at/all"});
  const Error e = error_of([&] { r.schedule("longer-tabel"); });
  CHECK(e.code() == SY_E_CONFIG);
  for (const char* part :
       {"unknown schedule 'longer-tabel'", "did you mean 'longer-table'?", "throws-int", "/nowhere/at/all"})
    CHECK_MESSAGE(contains(e.what(), part), part << " in: " << e.what());
  CHECK(contains(e.what(), hostile_folder()));
}

TEST_CASE("a file of the very name that does not fit is what the error is about") {
  Registry r({}, {hostile_folder()});
  const Error e = error_of([&] { r.schedule("abi-next-major"); });
  CHECK(e.code() == SY_E_ABI);
  CHECK(contains(e.what(), "ABI 1.0"));
  const Error unavailable = error_of([&] { r.schedule("attach-fails"); });
  CHECK(unavailable.code() == SY_E_UNAVAILABLE);
  CHECK(contains(unavailable.what(), "no licence"));
}

TEST_CASE("every hostile plugin in one folder: all the good ones are there, each bad one has its reason") {
  Registry r({}, {hostile_folder()});
  const auto names = r.names(SY_KIND_SCHEDULE);
  CHECK(std::find(names.begin(), names.end(), "good") != names.end());
  CHECK(std::find(names.begin(), names.end(), "wrong-magic") == names.end());
  CHECK(std::is_sorted(names.begin(), names.end()));
  int skipped = 0;
  for (const PluginCandidate& c : r.candidates()) {
    if (c.state != "skipped") continue;
    ++skipped;
    CHECK_FALSE(c.reason.empty());
  }
  CHECK(skipped > 20);
}

TEST_CASE("files named by the user: paths and bare names; what goes wrong is an error at once") {
  CHECK(candidate(Registry({hostile("good")}, {}), hostile("good")).state == "loaded");
  Registry r({"good", "schedule-longer-table", "test.hostile.guarded"}, {hostile_folder()});
  for (const char* name : {"good", "longer-table", "guarded"}) CHECK(candidate(r, hostile(name)).state == "loaded");
  r.load(hostile("good"));
  CHECK(error_of([] { Registry({hostile("wrong-magic")}, {}); }).code() == SY_E_ABI);
  const Error e = error_of([] { Registry({"no-such-plugin"}, {hostile_folder()}); });
  CHECK(e.code() == SY_E_NOT_FOUND);
  CHECK(contains(e.what(), hostile_folder()));
  CHECK(error_of([] { Registry({"/nowhere/sy-layer-x.so"}, {}); }).code() == SY_E_NOT_FOUND);
}

TEST_CASE("tables of the host program come first; two that were both asked for must not offer the same") {
  Registry r({}, {hostile_folder()});
  const sy_schedule_api& found = r.schedule("good");
  r.add(&own_plugin);
  CHECK(std::string(r.schedule("own").help) == "of the program");
  CHECK(std::string(r.schedule("good").help) == "of the program");
  CHECK(std::string(found.help) == "does nothing");  // lives on
  r.add(&own_plugin);
  const Error e = error_of([&] { r.load(hostile("good")); });
  CHECK(e.code() == SY_E_EXISTS);
  CHECK(contains(e.what(), "test.own"));
  CHECK(contains(e.what(), "test.hostile.good"));
  CHECK(std::string(r.schedule("good").help) == "of the program");
  CHECK(error_of([&] { r.add(nullptr); }).code() == SY_E_ARGUMENT);
}

TEST_CASE("two runtimes share what is loaded and nothing else") {
  Registry first({}, {hostile_folder()}), second({}, {hostile_folder()}), other({}, {});
  CHECK(&first.schedule("good") == &second.schedule("good"));
  CHECK_FALSE(other.has(SY_KIND_SCHEDULE, "good"));
}

TEST_CASE("files with other names in a folder of the user's are mentioned") {
  const Folder f;
  f.write("libmine.so", "x");
  f.write("sy-layer-text.so", "hello");
  Registry r({}, {f.path()});
  CHECK(contains(candidate(r, f.at("libmine.so")).reason, "sy-KIND-NAME.so"));
  CHECK(contains(candidate(r, f.at("sy-layer-text.so")).reason, "no shared library"));
}
