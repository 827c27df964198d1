// A plugin whose author forgot sy::guard: exceptions leave its create functions and its attach.
#include <iterator>
#include <new>
#include <stdexcept>

#include "switchyard/plugin.h"

SY_PLUGIN_NOTE("test.hostile." NAME);

namespace {

sy_rc create_std(const sy_host*, const sy_config*, sy_schedule**, sy_error**) {
  throw std::runtime_error("thrown by create");
}
sy_rc create_int(const sy_host*, const sy_config*, sy_schedule**, sy_error**) { throw 42; }
sy_rc create_memory(const sy_host*, const sy_config*, sy_schedule**, sy_error**) { throw std::bad_alloc(); }
sy_rc plan(sy_schedule*, const sy_schedule_in*, sy_error**) { return SY_OK; }
void destroy(sy_schedule*) {}

constexpr sy_schedule_api table(const char* id, decltype(sy_schedule_api::create) create) {
  return {sizeof(sy_schedule_api), 0, id, "throws", nullptr, 0, 0, create, plan, destroy};
}
constexpr sy_schedule_api with_std = table("throws-std", create_std);
constexpr sy_schedule_api with_int = table("throws-int", create_int);
constexpr sy_schedule_api with_memory = table("throws-memory", create_memory);
constexpr sy_export exports[] = {
    {SY_KIND_SCHEDULE, &with_std}, {SY_KIND_SCHEDULE, &with_int}, {SY_KIND_SCHEDULE, &with_memory}};

sy_rc attach(const sy_host*, sy_error**) {
#ifdef ATTACH_THROWS
  throw 42;
#endif
  return SY_OK;
}

}  // namespace

extern "C" SY_EXPORT constexpr sy_plugin sy_plugin_v1{SY_PLUGIN_MAGIC, sizeof(sy_plugin),    SY_ABI_MAJOR,
                                                      SY_ABI_MINOR,    "test.hostile." NAME, "1.0",
                                                      exports,         std::size(exports),   0,
                                                      attach};
