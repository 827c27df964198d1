// The same exceptions within the SDK's tables: its guard turns them into codes and texts.
#include "switchyard/cpp/plugin.hpp"

namespace {

struct ThrowsStd {
  static constexpr const char* id = "guarded-std";
  static constexpr const char* help = "throws";
  explicit ThrowsStd(const sy::config&) { throw std::runtime_error("thrown by create"); }
  void plan(const sy_schedule_in&) {}
};

struct ThrowsInt {
  static constexpr const char* id = "guarded-int";
  static constexpr const char* help = "throws";
  explicit ThrowsInt(const sy::config&) { throw 42; }
  void plan(const sy_schedule_in&) {}
};

struct ThrowsFault {
  static constexpr const char* id = "guarded-fault";
  static constexpr const char* help = "throws";
  explicit ThrowsFault(const sy::config&) { throw sy::fault(SY_E_INFEASIBLE, "no schedule for this"); }
  void plan(const sy_schedule_in&) {}
};

constexpr sy_export exports[] = {sy::export_schedule<ThrowsStd>(), sy::export_schedule<ThrowsInt>(),
                                 sy::export_schedule<ThrowsFault>()};

}  // namespace

SY_PLUGIN_NOTE("test.hostile.guarded");
SY_DEFINE_PLUGIN("test.hostile.guarded", "1.0", exports)
