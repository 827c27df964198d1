// The timeline against a picture drawn by hand.
#include "plan/timeline.hpp"

#include <doctest/doctest.h>

#include "planning.hpp"

using namespace planning;

namespace {

/// Two stages of one layer each, two micro-batches, F = 1, B = 2, a transfer of 0.5.
Plan drawn() {
  Plan plan = make(deep(2) + on(2) + training, {"placement.policy=contiguous", "placement.contiguous.cuts=[\"h.1\"]",
                                                "schedule.type=1f1b", "schedule.micro_batches=2"})
                  .plan;
  plan.times.assign(2, {1, 1, 1});
  for (Edge& e : plan.edges) e.seconds = 0.5, e.bytes = 100;
  plan.stage_memory.assign(2, {10, 15, 30});
  for (DeviceMemory& m : plan.memory) m = {1000, 0, 0, 0, 0, 0};
  return plan;
}

std::string text_of(const std::vector<TimedAction>& actions) {
  std::string text;
  for (const TimedAction& a : actions) {
    char one[64];
    std::snprintf(one, sizeof one, "%s%u.%d %g-%g", text.empty() ? "" : ", ", a.action.kind, a.action.micro_batch,
                  a.begin, a.end);
    text += one;
  }
  return text;
}

}  // namespace

TEST_CASE("actions begin when their inputs are there, and what was sent travels") {
  //  d0  F F . . . BB . BB
  //  d1   . F BB F BB          (half a unit late)
  const Timeline t = timeline_of(drawn());
  CHECK(text_of(t.actions[0]) == "1.0 0-1, 1.1 1-2, 2.0 5-7, 2.1 8-10");
  CHECK(text_of(t.actions[1]) == "1.0 1.5-2.5, 2.0 2.5-4.5, 1.1 4.5-5.5, 2.1 5.5-7.5");
  CHECK(t.seconds == 10);
  REQUIRE(t.transfers.size() == 4);
  CHECK(t.transfers[0].begin == 1);
  CHECK(t.transfers[0].end == 1.5);
  CHECK(t.transfers[3].begin == 7.5);
  CHECK(t.transfers[3].end == 8);
}

TEST_CASE("memory rises inside an action and falls to what is saved") {
  const Timeline t = timeline_of(drawn());
  const auto text = [](const std::vector<MemoryPoint>& points) {
    std::string all;
    for (const MemoryPoint& p : points) {
      char one[64];
      std::snprintf(one, sizeof one, "%s%g:%llu", all.empty() ? "" : " ", p.at,
                    static_cast<unsigned long long>(p.bytes));
      all += one;
    }
    return all;
  };
  CHECK(text(t.memory[0]) == "0:1000 0:1015 1:1025 2:1020 5:1040 7:1010 8:1030 10:1000");
  CHECK(text(t.memory[1]) == "0:1000 1.5:1015 2.5:1030 4.5:1015 5.5:1030 7.5:1000");
}

TEST_CASE("the highest point of each device is its planned peak, the end is the predicted pass") {
  for (const char* schedule : {"gpipe", "1f1b"})
    for (const char* recompute : {"true", "false"}) {
      const Plan plan =
          make(deep(8) + on(3) + training, {std::string("schedule.type=") + schedule, "schedule.micro_batches=8",
                                            "train.accumulate=2", std::string("train.recompute=") + recompute})
              .plan;
      const Timeline t = timeline_of(plan);
      CHECK(t.seconds * 2 == doctest::Approx(plan.prediction.step_s));
      for (std::size_t d = 0; d < plan.devices.size(); ++d) {
        uint64_t most = 0;
        double at = 0;
        for (const MemoryPoint& p : t.memory[d]) {
          CHECK(p.at >= at);
          at = p.at;
          most = std::max(most, p.bytes);
        }
        CHECK(most == plan.memory[d].peak());
      }
    }
}
