// Policies and schedules that answer nonsense: each is refused with the reason, none crashes.
#include <doctest/doctest.h>

#include "planning.hpp"
#include "switchyard/cpp/plugin.hpp"

using namespace planning;

namespace {

/// Writes one answer for 5 layers on 2 devices.
struct Answer {
  std::vector<int32_t> stages, devices;
  uint32_t n_stages;
};

template <class P>
struct Wrong {
  static constexpr const char* help = "gives a wrong answer";
  explicit Wrong(const sy::config&) {}
  void place(const sy_place&, sy_placed& out) {
    const Answer a = P::answer();
    std::copy(a.stages.begin(), a.stages.end(), out.stage_of_layer);
    std::copy(a.devices.begin(), a.devices.end(), out.device_of_stage);
    out.n_stages = a.n_stages;
  }
};

struct Gap : Wrong<Gap> {
  static constexpr const char* id = "p_gap";
  using Wrong::Wrong;
  static Answer answer() { return {{0, 0, 2, 2, 2}, {0, 1, 0}, 3}; }
};
struct Decreasing : Wrong<Decreasing> {
  static constexpr const char* id = "p_decreasing";
  using Wrong::Wrong;
  static Answer answer() { return {{0, 1, 0, 1, 1}, {0, 1}, 2}; }
};
struct NoDevice : Wrong<NoDevice> {
  static constexpr const char* id = "p_no_device";
  using Wrong::Wrong;
  static Answer answer() { return {{0, 0, 1, 1, 1}, {0, 2}, 2}; }
};
struct Nothing : Wrong<Nothing> {
  static constexpr const char* id = "p_nothing";
  using Wrong::Wrong;
  static Answer answer() { return {{}, {}, 0}; }
};
struct EmptyStage : Wrong<EmptyStage> {
  static constexpr const char* id = "p_empty_stage";
  using Wrong::Wrong;
  static Answer answer() { return {{0, 0, 0, 0, 0}, {0, 1}, 2}; }
};
struct Missing : Wrong<Missing> {
  static constexpr const char* id = "p_missing";
  using Wrong::Wrong;
  static Answer answer() { return {{0, 0, 1, 1}, {0, 1}, 2}; }
};
struct Throws : Wrong<Throws> {
  static constexpr const char* id = "p_throws";
  using Wrong::Wrong;
  static Answer answer() { throw std::runtime_error("out of ideas"); }
};
struct ThrowsInt : Wrong<ThrowsInt> {
  static constexpr const char* id = "p_throws_int";
  using Wrong::Wrong;
  static Answer answer() { throw 42; }
};

/// Emits 1 micro-batch of 2 stages on 2 devices, wrongly.
template <class S>
struct WrongOrder {
  static constexpr const char* help = "gives a wrong order";
  explicit WrongOrder(const sy::config&) {}
  void plan(const sy_schedule_in& in) {
    S::emit([&](int32_t device, uint32_t kind, int32_t stage, int32_t micro_batch) {
      const sy_rc rc = in.emit(in.self, device, kind, stage, micro_batch, nullptr);
      if (rc != SY_OK) throw sy::fault(rc, "device " + std::to_string(device) + " was refused");
    });
  }
};
struct MissingBackward : WrongOrder<MissingBackward> {
  static constexpr const char* id = "s_missing";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {
    e(0, SY_ACT_F, 0, 0), e(1, SY_ACT_F, 1, 0), e(1, SY_ACT_B, 1, 0);
  }
};
struct BackwardFirst : WrongOrder<BackwardFirst> {
  static constexpr const char* id = "s_backward_first";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {
    e(0, SY_ACT_B, 0, 0), e(0, SY_ACT_F, 0, 0);
  }
};
struct ForeignStage : WrongOrder<ForeignStage> {
  static constexpr const char* id = "s_foreign";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {
    e(0, SY_ACT_F, 1, 0);
  }
};
struct Descending : WrongOrder<Descending> {
  static constexpr const char* id = "s_descending";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {
    e(0, SY_ACT_F, 0, 1), e(0, SY_ACT_F, 0, 0);
  }
};
struct UnknownDevice : WrongOrder<UnknownDevice> {
  static constexpr const char* id = "s_unknown_device";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {
    e(7, SY_ACT_F, 0, 0);
  }
};
struct UnknownAction : WrongOrder<UnknownAction> {
  static constexpr const char* id = "s_unknown_action";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {
    e(0, 9, 0, 0);
  }
};
struct Stuck : WrongOrder<Stuck> {
  static constexpr const char* id = "s_stuck";
  using WrongOrder::WrongOrder;
  template <class Emit>
  static void emit(Emit e) {  // each device waits for the other one's next action
    e(0, SY_ACT_F, 0, 0), e(0, SY_ACT_B, 0, 0), e(0, SY_ACT_F, 0, 1), e(0, SY_ACT_B, 0, 1);
    e(1, SY_ACT_F, 1, 0), e(1, SY_ACT_F, 1, 1), e(1, SY_ACT_B, 1, 0), e(1, SY_ACT_B, 1, 1);
  }
};

constexpr sy_export wrong_exports[] = {sy::export_policy<Gap>(),
                                       sy::export_policy<Decreasing>(),
                                       sy::export_policy<NoDevice>(),
                                       sy::export_policy<Nothing>(),
                                       sy::export_policy<EmptyStage>(),
                                       sy::export_policy<Missing>(),
                                       sy::export_policy<Throws>(),
                                       sy::export_policy<ThrowsInt>(),
                                       sy::export_schedule<MissingBackward>(),
                                       sy::export_schedule<BackwardFirst>(),
                                       sy::export_schedule<ForeignStage>(),
                                       sy::export_schedule<Descending>(),
                                       sy::export_schedule<UnknownDevice>(),
                                       sy::export_schedule<UnknownAction>(),
                                       sy::export_schedule<Stuck>()};
constexpr sy_plugin wrong_plugin{SY_PLUGIN_MAGIC,
                                 sizeof(sy_plugin),
                                 SY_ABI_MAJOR,
                                 SY_ABI_MINOR,
                                 "test-wrong",
                                 "1.0",
                                 wrong_exports,
                                 std::size(wrong_exports),
                                 0,
                                 sy::attach};

Registry& with_wrong() {
  static Registry& all = [&]() -> Registry& {
    registry().add(&wrong_plugin);
    return registry();
  }();
  return all;
}

std::string policy(const std::string& name) {
  return refusal(deep(4) + on(2) + training, {"placement.policy=" + name}, with_wrong());
}
std::string schedule(const std::string& name, int micro_batches = 1) {
  return refusal(deep(3) + on(2) + training,
                 {"placement.policy=contiguous", "schedule.type=" + name,
                  "schedule.micro_batches=" + std::to_string(micro_batches)},
                 with_wrong());
}

}  // namespace

TEST_CASE("a policy that gives no placement is refused, naming itself and the layer or stage") {
  CHECK(contains(policy("p_gap"), "'p_gap' gave no placement: layer 2 'h.2' is in stage 2 after stage 0"));
  CHECK(contains(policy("p_decreasing"), "layer 2 'h.2' is in stage 0 after stage 1"));
  CHECK(contains(policy("p_no_device"), "stage 1 is on device 2 of 2"));
  CHECK(contains(policy("p_nothing"), "0 stages for 5 layers"));
  CHECK(contains(policy("p_empty_stage"), "stage 1 has no layer"));
  CHECK(contains(policy("p_missing"), "layer 4 'loss' is in stage -1"));
}

TEST_CASE("a policy that throws is refused with its text") {
  CHECK(contains(policy("p_throws"), "placement.policy = \"p_throws\": out of ideas"));
  CHECK(contains(policy("p_throws_int"), "p_throws_int"));
}

TEST_CASE("a schedule that is none is refused, naming device, position and action") {
  CHECK(contains(schedule("s_missing"), "B of stage 0, micro-batch 0 is missing"));
  CHECK(contains(schedule("s_backward_first"), "device 0, action 0: B of stage 0, micro-batch 0 comes before its F"));
  CHECK(contains(schedule("s_foreign"), "F of stage 1, micro-batch 0: the stage lies on device 1"));
  CHECK(contains(schedule("s_descending", 2), "F of stage 0, micro-batch 1: micro-batch 0 is next"));
  CHECK(contains(schedule("s_unknown_device"), "device 7 was refused"));
  CHECK(contains(schedule("s_unknown_action"), "unknown action 9"));
}

TEST_CASE("a schedule that cannot end is refused before anything runs") {
  CHECK(contains(schedule("s_stuck", 2), "the schedule cannot end: device 0 waits at B of stage 0, micro-batch 0"));
}

TEST_CASE("an unknown policy or schedule names the known ones") {
  CHECK(contains(policy("contigous"), "contiguous"));
  CHECK(contains(schedule("gpip"), "gpipe"));
}
