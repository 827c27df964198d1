// time_balanced against exhaustive search.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../../support/text.hpp"
#include "every_split.hpp"

using switchyard::test::contains;

namespace {

constexpr double nothing = 1e300;

/// The shortest step of all splits that fit and respect the pins; `nothing` when none does.
double shortest(const World& w) {
  double best = nothing;
  for_every_split(w.layers.size(), w.budgets.size(), [&](const auto& stages, const auto& devices) {
    for (std::size_t i = 0; i < stages.size(); ++i)
      if (w.layers[i].pin >= 0 && w.layers[i].pin != devices[static_cast<std::size_t>(stages[i])]) return;
    const World::Judgement j = w.judge(stages, devices);
    if (j.misfit < 0) best = std::min(best, j.seconds);
  });
  return best;
}

/// Devices of unequal speed and memory with links that matter.
World unequal_world(std::mt19937& random, std::size_t layers, std::size_t devices) {
  World w = random_world(random, layers, devices);
  for (std::size_t d = 0; d < devices; ++d) w.speeds.push_back(1 + static_cast<double>(random() % 4));
  w.latency_s = random() % 2 == 0 ? 0 : static_cast<double>(random() % 20);
  w.bytes_per_s = random() % 2 == 0 ? 1e9 : 10 + static_cast<double>(random() % 100);
  return w;
}

}  // namespace

TEST_CASE("the step is the shortest of exhaustive search on 500 random models with unequal devices") {
  std::mt19937 random(21);
  int infeasible = 0, fewer = 0, bound_by_bytes = 0;
  for (int round = 0; round < 500; ++round) {
    const std::size_t layers = 1 + random() % 9, devices = 1 + random() % 4;
    World w = unequal_world(random, layers, devices);
    if (random() % 8 == 0) std::fill(w.budgets.begin(), w.budgets.end(), UINT64_MAX);
    const double best = shortest(w);
    const Answer a = w.place("time_balanced");
    INFO(round);
    if (best == nothing) {
      ++infeasible;
      CHECK(a.closest);
      continue;
    }
    REQUIRE(a.code == SY_OK);
    CHECK(!a.closest);
    CHECK(w.judge(a).misfit == -1);
    CHECK(w.judge(a).seconds == best);
    fewer += a.device_of_stage.size() < std::min(layers, devices);
    bound_by_bytes += contains(a.text, "budgets cost");
  }
  MESSAGE(infeasible << " infeasible, " << fewer << " with fewer stages than possible, " << bound_by_bytes
                     << " bound by budgets");
  CHECK(infeasible > 10);
  CHECK(infeasible < 250);
  CHECK(fewer > 10);
  CHECK(bound_by_bytes > 10);
}

TEST_CASE("time_balanced respects pins, and the answer is the best that respects them") {
  std::mt19937 random(22);
  int possible = 0;
  for (int round = 0; round < 100; ++round) {
    World w = unequal_world(random, 2 + random() % 7, 3);
    for (uint64_t& b : w.budgets) b *= 4;
    w.layers[random() % w.layers.size()].pin = static_cast<int32_t>(random() % 3);
    w.layers[random() % w.layers.size()].pin = static_cast<int32_t>(random() % 3);
    const double best = shortest(w);
    const Answer a = w.place("time_balanced");
    INFO(round);
    CHECK((a.code == SY_OK && !a.closest) == (best < nothing));
    if (best == nothing) continue;
    ++possible;
    CHECK(w.judge(a).seconds == best);
  }
  CHECK(possible > 50);
}

TEST_CASE("a device of twice the speed gets twice the layers") {
  World w = World::equal(30, 2);
  w.speeds = {1, 2};
  w.micro_batches = 64;
  const Answer a = w.place("time_balanced");
  REQUIRE(a.code == SY_OK);
  auto sizes = a.sizes();
  CHECK(std::max(sizes[0], sizes[1]) == 20);
}

TEST_CASE("one micro-batch gains nothing from a second device") {
  World w = World::equal(12, 3);
  w.speeds = {1, 3, 2};
  w.micro_batches = 1;
  CHECK(w.place("time_balanced").devices() == "1 1 1 1 1 1 1 1 1 1 1 1");
  w.micro_batches = 16;
  CHECK(w.place("time_balanced").device_of_stage.size() == 3);
}

TEST_CASE("a slow link keeps the model together") {
  World w = World::equal(8, 2);
  w.micro_batches = 8;
  CHECK(w.place("time_balanced").device_of_stage.size() == 2);
  w.latency_s = 1000;
  CHECK(w.place("time_balanced").device_of_stage.size() == 1);
}

TEST_CASE("the reason names what binds, what budgets cost, and by how much the runner-up lost") {
  World w = World::equal(9, 2);
  w.speeds = {1, 3};
  w.micro_batches = 16;
  const std::string free = w.place("time_balanced").text;
  INFO(free);
  CHECK(contains(free, ", bound by cpu:1 with 'h."));
  CHECK(contains(free, " for each micro-batch"));
  CHECK(contains(free, "; runner-up ("));
  CHECK(contains(free, " % longer"));
  CHECK(!contains(free, "budgets cost"));
  w.budgets = {UINT64_MAX, 2000};  // too little for what would lie there
  const std::string tight = w.place("time_balanced").text;
  INFO(tight);
  CHECK(contains(tight, "; budgets cost "));
  CHECK(contains(tight, " misses "));
}

TEST_CASE("time_balanced: nothing fits: the answer is what comes closest, and says so") {
  World w = World::equal(6, 2);
  w.budgets = {1000, 1000};
  const Answer a = w.place("time_balanced");
  CHECK(a.code == SY_OK);
  CHECK(a.closest);
  CHECK(a.sizes() == std::vector<int64_t>{3, 3});
  World large = World::equal(3000, 8);
  large.budgets.assign(8, 1000);
  CHECK(large.place("time_balanced").closest);
}

TEST_CASE("time_balanced: pins that allow no contiguous placement are a configuration error") {
  World w = World::equal(3, 2);
  w.layers[0].pin = 0, w.layers[1].pin = 1, w.layers[2].pin = 0;
  CHECK(w.place("time_balanced").code == SY_E_CONFIG);
  World large = World::equal(2000, 8);
  large.layers[0].pin = 0, large.layers[1000].pin = 1, large.layers[1999].pin = 0;
  CHECK(large.place("time_balanced").code == SY_E_CONFIG);
}

TEST_CASE("time_balanced: the search for large models comes within 3 % of exhaustive search") {
  std::mt19937 random(24);
  double worst = 0;
  for (int round = 0; round < 30; ++round) {
    World w = unequal_world(random, 40, 3);
    for (uint64_t& b : w.budgets) b *= 12;
    const double best = shortest(w);
    w.evaluations = 0;
    const Answer a = w.place("time_balanced");
    INFO(round);
    if (best == nothing) {
      CHECK(a.closest);
      continue;
    }
    REQUIRE(a.code == SY_OK);
    CHECK(w.evaluations <= 56);
    CHECK(w.judge(a).seconds <= best * 1.03);
    worst = std::max(worst, w.judge(a).seconds / best);
  }
  MESSAGE("worst: " << 100 * (worst - 1) << " % above the optimum");
}
