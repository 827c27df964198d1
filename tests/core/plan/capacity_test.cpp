// Programs written by hand: deadlocks, and the room that edges need.
#include <doctest/doctest.h>

#include "planning.hpp"

using namespace planning;

namespace {

/// Stages of one layer each; the devices as given.
std::vector<Stage> stages_on(const std::vector<int>& devices) {
  std::vector<Stage> stages;
  for (std::size_t s = 0; s < devices.size(); ++s) {
    const int at = static_cast<int>(s);
    stages.push_back({at, devices[s], at, at});
  }
  return stages;
}

/// Forward edges, and with `backward` the same in return.
std::vector<Edge> edges_between(const std::vector<std::pair<int, int>>& pairs, bool backward) {
  std::vector<Edge> edges;
  for (const auto& [from, to] : pairs)
    for (const bool back : {false, true}) {
      if (back && !backward) continue;
      Edge e;
      e.index = static_cast<int>(edges.size());
      e.backward = back;
      e.layer = from;
      e.from = back ? to : from;
      e.to = back ? from : to;
      e.bytes = 1000;
      e.capacity = 1;
      edges.push_back(e);
    }
  return edges;
}

/// "F0.1 B0.1": stage 0, micro-batch 1.
std::vector<Action> program(const std::string& text) {
  std::vector<Action> actions;
  for (std::size_t at = 0; at < text.size(); at += 5)
    actions.push_back(
        {text[at] == 'F' ? uint32_t{SY_ACT_F} : uint32_t{SY_ACT_B}, text[at + 1] - '0', text[at + 3] - '0'});
  return actions;
}

ProgramRun run(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
               std::vector<Edge> edges, double transfer = 0) {
  for (Edge& e : edges) e.seconds = transfer;
  return run_programs(programs, stages, edges, std::vector<StageTimes>(stages.size(), {1, 1, 1}));
}

}  // namespace

TEST_CASE("two stages and two micro-batches take as long as by hand") {
  //  d0  F F . BB BB        with a forward of 1 and a backward of 2
  //  d1  . F F BB BB  ->  F0.0 at 0, F1.0 at 1, F1.1 at 2, B1.0 at 3..5, B0.0 at 5..7, B1.1 at 5..7, B0.1 at 7..9
  const auto stages = stages_on({0, 1});
  const auto edges = edges_between({{0, 1}}, true);
  const ProgramRun r = run({program("F0.0 F0.1 B0.0 B0.1"), program("F1.0 F1.1 B1.0 B1.1")}, stages, edges);
  CHECK(r.deadlock == "");
  CHECK(r.seconds == 9);
  CHECK(r.busy == std::vector<double>{6, 6});
}

TEST_CASE("a transfer delays who waits for it and nobody else") {
  const auto stages = stages_on({0, 1});
  const ProgramRun r = run({program("F0.0"), program("F1.0")}, stages, edges_between({{0, 1}}, false), 0.5);
  CHECK(r.seconds == 2.5);
}

TEST_CASE("edges within a device take no time") {
  const auto stages = stages_on({0, 0});
  auto edges = edges_between({{0, 1}}, false);
  edges[0].capacity = 0;
  CHECK(run({program("F0.0 F1.0")}, stages, edges, 100).seconds == 2);
}

TEST_CASE("a program that waits for what never comes is found, and names who waits for what") {
  // Device 1 wants the second forward before it gives the first gradient, device 0 gives it only afterwards.
  const auto stages = stages_on({0, 1});
  auto edges = edges_between({{0, 1}}, true);
  const std::vector<std::vector<Action>> programs = {program("F0.0 B0.0 F0.1 B0.1"), program("F1.0 F1.1 B1.0 B1.1")};
  const ProgramRun r = run(programs, stages, edges);
  CHECK(contains(r.deadlock, "device 0 waits at B of stage 0, micro-batch 0 for a tensor from stage 1"));
  CHECK(contains(r.deadlock, "device 1 waits at F of stage 1, micro-batch 1 for a tensor from stage 0"));
  CHECK_THROWS_WITH_AS(choose_capacities(programs, stages, edges, 2),
                       doctest::Contains("the schedule cannot end: device 0 waits at B of stage 0"), Error);
}

TEST_CASE("without anything buffered, neighbours that send to each other lock; with one tensor of room they do not") {
  const auto stages = stages_on({0, 1});
  const auto edges = edges_between({{0, 1}}, true);
  // Device 0 would hand over its second forward while device 1 wants to hand back its first gradient.
  const std::vector<std::vector<Action>> crossed = {program("F0.0 F0.1 B0.0 B0.1"), program("F1.0 B1.0 F1.1 B1.1")};
  const std::string blocked = blocking_deadlock(crossed, stages, edges);
  CHECK(contains(blocked, "device 0 waits at F of stage 0, micro-batch 1"));
  CHECK(contains(blocked, "device 1 waits at B of stage 1, micro-batch 0"));
  CHECK(run(crossed, stages, edges).deadlock == "");
  // One micro-batch after the other, and all forwards before all backwards, need no buffer.
  CHECK(blocking_deadlock({program("F0.0 B0.0 F0.1 B0.1"), program("F1.0 B1.0 F1.1 B1.1")}, stages, edges) == "");
  CHECK(blocking_deadlock({program("F0.0 F0.1 B0.0 B0.1"), program("F1.0 F1.1 B1.0 B1.1")}, stages, edges) == "");
}

TEST_CASE("an edge that has too little room is widened, and no other one") {
  // Stages 0 and 2 share device 0, which runs all of stage 0 first: three tensors wait on the edge from 1 to 2.
  const auto stages = stages_on({0, 1, 0});
  auto edges = edges_between({{0, 1}, {1, 2}}, false);
  const std::vector<std::vector<Action>> programs = {program("F0.0 F0.1 F0.2 F0.3 F0.4 F2.0 F2.1 F2.2 F2.3 F2.4"),
                                                     program("F1.0 F1.1 F1.2 F1.3 F1.4")};
  const ProgramRun narrow = run(programs, stages, edges);
  CHECK(contains(narrow.deadlock, "for room on the edge to stage 1"));
  CHECK(contains(narrow.deadlock, "for room on the edge to stage 2"));
  choose_capacities(programs, stages, edges, 5);
  CHECK(run(programs, stages, edges).deadlock == "");
  CHECK(edges[0].capacity + edges[1].capacity <= 6);
  CHECK(edges[0].capacity >= 1);
  // With one place less on either edge it does not end.
  for (Edge& e : edges)
    if (e.capacity > 1) {
      --e.capacity;
      CHECK(run(programs, stages, edges).deadlock != "");
      ++e.capacity;
    }
}

TEST_CASE("a skip over three stages stalls 1f1b unless it has room for as many tensors") {
  const auto stages = stages_on({0, 1, 2, 3});
  const std::vector<std::pair<int, int>> pairs = {{0, 1}, {1, 2}, {2, 3}, {0, 3}};
  const std::vector<std::vector<Action>> programs = {
      program("F0.0 F0.1 F0.2 F0.3 B0.0 F0.4 B0.1 F0.5 B0.2 B0.3 B0.4 B0.5"),
      program("F1.0 F1.1 F1.2 B1.0 F1.3 B1.1 F1.4 B1.2 F1.5 B1.3 B1.4 B1.5"),
      program("F2.0 F2.1 B2.0 F2.2 B2.1 F2.3 B2.2 F2.4 B2.3 F2.5 B2.4 B2.5"),
      program("F3.0 B3.0 F3.1 B3.1 F3.2 B3.2 F3.3 B3.3 F3.4 B3.4 F3.5 B3.5")};
  auto edges = edges_between(pairs, true);
  CHECK(run(programs, stages, edges).deadlock != "");
  for (Edge& e : edges) e.capacity = std::abs(e.to - e.from);
  choose_capacities(programs, stages, edges, 6);
  const double wide = run(programs, stages, edges).seconds;
  CHECK(wide == 27);  // (6 micro-batches + 3 stages more) of 3 each
  for (const Edge& e : edges) CHECK(e.capacity == std::abs(e.to - e.from));
}
