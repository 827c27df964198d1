// A schedule that is in order (all forwards, then all backwards), and with FAULT=NAME in the environment does one thing
// wrong.
#include <sys/stat.h>

#include <algorithm>
#include <switchyard/cpp/plugin.hpp>

#include "fault.hpp"

namespace {

uint32_t asked = 0;

struct Schedule {
  static constexpr const char* id = "broken";
  static constexpr const char* help = "a schedule with one fault";
  static constexpr sy_option options[] = {
      sy::i64_option("group", "100", 1, 1000, "micro-batches that go forth and back together"),
      sy::i64_option("unused", "100", 1, 1000, "says nothing"),
  };
  explicit Schedule(const sy::config& c) : group(static_cast<uint32_t>(c.i64("group"))) {
    if (!broken("options")) group = std::min(group, static_cast<uint32_t>(c.i64("unused")));
  }

  void plan(const sy_schedule_in& in) {
    if (broken("surroundings")) umask(077);
    if (in.n_stages > in.n_devices) throw sy::fault(SY_E_CONFIG, "one stage for each device");
    const bool other_time = broken("deterministic") && ++asked % 2 == 0;
    for (uint32_t stage = 0; stage < in.n_stages; ++stage)
      emit_stage(in, stage, other_time || (broken("ends") && stage == 0) ? 1 : group);
  }

 private:
  /// Group by group: F of all, then B of all.
  static void emit_stage(const sy_schedule_in& in, uint32_t stage, uint32_t size) {
    for (uint32_t begin = 0; begin < in.micro_batches; begin += size) {
      const uint32_t end = std::min(begin + size, in.micro_batches);
      for (uint32_t m = begin; m < end; ++m) add(in, stage, SY_ACT_F, m);
      for (uint32_t m = begin; m < end; ++m) {
        const bool missing = broken("complete") && m + 1 == in.micro_batches;
        if ((!in.forward_only || broken("evaluation")) && !missing) add(in, stage, SY_ACT_B, m);
      }
    }
  }
  static void add(const sy_schedule_in& in, uint32_t stage, uint32_t action, uint32_t m) {
    sy::check(in.emit(in.self, in.device_of_stage[stage], action, static_cast<int32_t>(stage), static_cast<int32_t>(m),
                      nullptr),
              "not taken");
  }
  uint32_t group;
};

}  // namespace

SY_PLUGIN_NOTE("test.broken.schedule");
static constexpr sy_export exports[] = {sy::export_schedule<Schedule>()};
SY_DEFINE_PLUGIN("test.broken.schedule", "1.0", exports)
