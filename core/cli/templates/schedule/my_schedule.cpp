// my_schedule: micro-batches go forth and back in groups: all forwards of a group, then all its backwards.
#include <algorithm>
#include <switchyard/cpp/plugin.hpp>

namespace {

struct Schedule {
  static constexpr const char* id = "my_schedule";
  static constexpr const char* help = "micro-batches go forth and back in groups";
  static constexpr sy_option options[] = {sy::i64_option("group", "2", 1, 1e6, "micro-batches that go together")};
  explicit Schedule(const sy::config& c) : group(static_cast<uint32_t>(c.i64("group"))) {}

  void plan(const sy_schedule_in& in) const {
    for (uint32_t begin = 0; begin < in.micro_batches; begin += group) {
      const uint32_t end = std::min(begin + group, in.micro_batches);
      for (uint32_t stage = 0; stage < in.n_stages; ++stage) emit(in, SY_ACT_F, stage, begin, end);
      for (uint32_t stage = in.n_stages; stage-- > 0 && !in.forward_only;) emit(in, SY_ACT_B, stage, begin, end);
    }
  }

 private:
  static void emit(const sy_schedule_in& in, uint32_t action, uint32_t stage, uint32_t begin, uint32_t end) {
    for (uint32_t m = begin; m < end; ++m)
      sy::check(in.emit(in.self, in.device_of_stage[stage], action, static_cast<int32_t>(stage),
                        static_cast<int32_t>(m), nullptr),
                "the action was not taken");
  }
  uint32_t group;
};

}  // namespace

SY_PLUGIN_NOTE("my_schedule");
static constexpr sy_export exports[] = {sy::export_schedule<Schedule>()};
SY_DEFINE_PLUGIN("my_schedule", "0.1", exports)
