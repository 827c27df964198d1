// The real schedules in plans: idle shares, order, evaluation.
#include <doctest/doctest.h>

#include "planning.hpp"

using namespace planning;

namespace {

std::string text_of(const std::vector<Action>& program) {
  std::string text;
  for (const Action& a : program)
    text += std::string(text.empty() ? "" : " ") + (a.kind == SY_ACT_F ? "F" : "B") + std::to_string(a.micro_batch);
  return text;
}

/// A linear layer on each stage, and the loss on the last.
Plan plan_of(const std::string& schedule, int stages, int micro_batches) {
  const std::string m = std::to_string(micro_batches);
  std::string counts;
  for (int s = 0; s < stages; ++s) counts += s + 1 < stages ? "1, " : "2";
  return make(deep(stages) + on(stages) + training,
              {"placement.policy=contiguous", "placement.contiguous.counts=[" + counts + "]",
               "schedule.type=" + schedule, "schedule.micro_batches=" + m, "train.batch=" + m})
      .plan;
}

/// The same programs with every action equally long and transfers for nothing.
double idle_of_equal_stages(const Plan& plan) {
  const std::vector<StageTimes> times(plan.stages.size(), {1, 1, 1});
  const ProgramRun r = run_programs(plan.train, plan.stages, plan.edges, times);
  REQUIRE(r.deadlock == "");
  double busy = 0;
  for (const double b : r.busy) busy += b;
  return 1 - busy / (r.seconds * static_cast<double>(r.busy.size()));
}

}  // namespace

TEST_CASE("gpipe and 1f1b are idle (s-1)/(m+s-1) of the time with the capacities that the plan prints") {
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const int s : {1, 2, 4})
      for (const int m : {1, 3, 4, 8}) {
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
