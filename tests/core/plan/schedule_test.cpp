// The real schedules in plans: idle shares, order, evaluation.
#include <doctest/doctest.h>

#include "planning.hpp"

using namespace planning;

namespace {

std::string text_of(const std::vector<Action>& program) {
  std::string text;
  for (const Action& a : program)
    text += (text.empty() ? "" : " ") + std::string(1, " FBIWR"[a.kind]) + std::to_string(a.micro_batch);
  return text;
}

/// So wide that the loss takes no time beside a layer.
constexpr int wide = 4096;

/// A linear layer on each stage, and the loss on the last.
Plan plan_of(const std::string& schedule, int stages, int micro_batches) {
  const std::string m = std::to_string(micro_batches);
  std::string counts;
  for (int s = 0; s < stages; ++s) counts += s + 1 < stages ? "1, " : "2";
  return make(deep(stages, wide) + on(stages) + training,
              {"placement.policy=contiguous", "placement.contiguous.counts=[" + counts + "]",
               "schedule.type=" + schedule, "schedule.micro_batches=" + m, "train.batch=" + m})
      .plan;
}

/// Layers in chunks: `v` stages on each device, in rounds or as a V.
Plan chunked_plan(const std::string& schedule, int devices, int v, int micro_batches, const std::string& order) {
  const std::string m = std::to_string(micro_batches);
  std::string counts;
  for (int r = 0; r < devices * v; ++r) counts += r + 1 < devices * v ? "1, " : "2";
  return make(deep(devices * v, wide) + on(devices) + training,
              {"placement.policy=contiguous", "placement.contiguous.counts=[" + counts + "]",
               "placement.contiguous.chunks=" + std::to_string(v), "placement.contiguous.order=" + order,
               "schedule.type=" + schedule, "schedule.micro_batches=" + m, "train.batch=" + m})
      .plan;
}

/// The same programs with every action equally long and transfers for nothing.
double idle_of_equal_stages(const Plan& plan) {
  std::vector<StageTimes> times;
  for (const Stage& s : plan.stages) {
    const double runs = s.last - s.first + (s.index + 1 < static_cast<int>(plan.stages.size()));  // the loss is none
    times.push_back({runs, runs, runs});
  }
  const ProgramRun r = run_programs(plan.train, plan.stages, plan.edges, times);
  REQUIRE(r.deadlock == "");
  double busy = 0;
  for (const double b : r.busy) busy += b;
  return 1 - busy / (r.seconds * static_cast<double>(r.busy.size()));
}

}  // namespace

TEST_CASE("gpipe and 1f1b are idle (s-1)/(m+s-1) of the time with the capacities that the plan prints") {
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const int s : {1, 2, 4, 8})
      for (const int m : {1, 3, 4, 8, 64}) {
        CAPTURE(schedule);
        CAPTURE(s);
        CAPTURE(m);
        CHECK(idle_of_equal_stages(plan_of(schedule, s, m)) == doctest::Approx((s - 1.0) / (m + s - 1.0)));
      }
}

TEST_CASE("each device's program is the textbook's") {
  const Plan gpipe = plan_of("gpipe", 2, 3), alternating = plan_of("1f1b", 2, 3);
  CHECK(text_of(gpipe.train[0]) == "F0 F1 F2 B0 B1 B2");
  CHECK(text_of(gpipe.train[1]) == "F0 F1 F2 B0 B1 B2");
  CHECK(text_of(alternating.train[0]) == "F0 F1 B0 F2 B1 B2");
  CHECK(text_of(alternating.train[1]) == "F0 B0 F1 B1 F2 B2");
}

TEST_CASE("1f1b keeps fewer activations than gpipe") {
  const Plan gpipe = plan_of("gpipe", 2, 8), alternating = plan_of("1f1b", 2, 8);
  for (const int d : {0, 1}) CHECK(alternating.memory[d].activations < gpipe.memory[d].activations);
}

TEST_CASE("neighbours need room for one tensor") {
  for (const Edge& e : plan_of("1f1b", 4, 8).edges) CHECK(e.capacity == 1);
}

TEST_CASE("the forward schedule has forwards only and no edges back") {
  const Plan plan = plan_of("forward", 2, 3);
  CHECK(text_of(plan.train[0]) == "F0 F1 F2");
  for (const Edge& e : plan.edges) CHECK_FALSE(e.backward);
}

TEST_CASE("accumulated passes multiply the step") {
  const auto with = [](const char* passes) {
    return make(deep(2) + on(2) + training, {"schedule.micro_batches=4", "train.batch=8",
                                             std::string("train.accumulate=") + passes, "placement.policy=contiguous"})
        .plan;
  };
  const Plan one = with("1"), two = with("2");
  CHECK(one.rows[0].count == 2);
  CHECK(two.rows[0].count == 1);
  CHECK(two.accumulate == 2);
}

TEST_CASE("interleaved is idle (p-1)/(vm+p-1) of the time with the capacities that the plan prints") {
  for (const int p : {2, 4, 8})
    for (const int v : {2, 4})
      for (const int m : {p, 4 * p}) {
        CAPTURE(p);
        CAPTURE(v);
        CAPTURE(m);
        const Plan plan = chunked_plan("interleaved", p, v, m, "round");
        CHECK(idle_of_equal_stages(plan) == doctest::Approx((p - 1.0) / (v * m + p - 1.0)));
        // From five devices on it takes a ready backward rather than wait, and a tensor more may be under way.
        for (const Edge& e : plan.edges) CHECK(e.capacity <= (p < 5 ? 1 : 2));
      }
}

TEST_CASE("zb_h1 is idle (p-1)/(3m+p-1) of the time, zbv (p-1)/(6m+p-1), with edges of one tensor") {
  for (const int p : {2, 4, 8})
    for (const int m : {2 * p, 4 * p}) {
      const Plan h1 = plan_of("zb_h1", p, m), v = chunked_plan("zbv", p, 2, m, "v");
      CHECK(idle_of_equal_stages(h1) == doctest::Approx((p - 1.0) / (3.0 * m + p - 1.0)));
      CHECK(idle_of_equal_stages(v) == doctest::Approx((p - 1.0) / (6.0 * m + p - 1.0)));
      for (const Plan* plan : {&h1, &v})
        for (const Edge& e : plan->edges) CHECK(e.capacity <= 1);
    }
}

TEST_CASE("layers that split run I and W, stages without one run B") {
  CHECK(text_of(plan_of("zb_h1", 2, 3).train[0]) == "F0 F1 I0 W0 F2 I1 W1 I2 W2");
  const std::string relu =
      "[model]\ninput = { shape = [4] }\n[[layer]]\ntype = \"plain_linear\"\nout = 4\n"
      "[[layer]]\ntype = \"plain_relu\"\n[[layer]]\ntype = \"plain_cross_entropy\"\n";
  const Plan plan = make(relu + on(2) + training, {"placement.policy=contiguous", "placement.contiguous.counts=[1, 2]",
                                                   "schedule.type=zb_h1", "schedule.micro_batches=2"})
                        .plan;
  CHECK(text_of(plan.train[0]) == "F0 F1 I0 I1 W0 W1");
  CHECK(text_of(plan.train[1]) == "F0 B0 F1 B1");
}
