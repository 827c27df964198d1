// memory_balanced against exhaustive search.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <random>
#include <string>
#include <vector>

#include "every_split.hpp"

namespace {

struct Optimum {
  double ratio = 1e300;  // of what fits
  std::size_t most_stages = 0;
  bool found = false;
};
Optimum exhaustive(const World& w, bool pinned = false) {
  Optimum best;
  for_every_split(w.layers.size(), w.budgets.size(), [&](const auto& stages, const auto& devices) {
    for (std::size_t i = 0; pinned && i < stages.size(); ++i)
      if (w.layers[i].pin >= 0 && w.layers[i].pin != devices[static_cast<std::size_t>(stages[i])]) return;
    const World::Judgement j = w.judge(stages, devices);
    if (j.misfit >= 0 || j.ratio > best.ratio) return;
    if (j.ratio < best.ratio) best = {j.ratio, 0, true};
    best.most_stages = std::max(best.most_stages, devices.size());
  });
  return best;
}

}  // namespace

TEST_CASE("the answer is the optimum of exhaustive search on 500 random models with unequal devices") {
  std::mt19937 random(11);
  int infeasible = 0, fewer = 0;
  for (int round = 0; round < 500; ++round) {
    const std::size_t layers = 1 + random() % 10, devices = 1 + random() % 4;
    World w = random_world(random, layers, devices);
    if (random() % 8 == 0) std::fill(w.budgets.begin(), w.budgets.end(), UINT64_MAX);
    const Optimum best = exhaustive(w);
    const Answer a = w.place("memory_balanced");
    INFO(round);
    if (!best.found) {
      ++infeasible;
      CHECK(a.closest);
      continue;
    }
    REQUIRE(a.code == SY_OK);
    CHECK(!a.closest);
    CHECK(w.judge(a).misfit == -1);
    CHECK(w.judge(a).ratio == best.ratio);
    CHECK(a.device_of_stage.size() == best.most_stages);
    fewer += a.device_of_stage.size() < std::min(layers, devices);
  }
  MESSAGE(infeasible << " infeasible, " << fewer << " with fewer stages than possible");
  CHECK(infeasible > 10);
  CHECK(infeasible < 250);
  CHECK(fewer > 0);
}

TEST_CASE("pins are respected, and the answer is the best that respects them") {
  std::mt19937 random(12);
  int possible = 0;
  for (int round = 0; round < 100; ++round) {
    World w = random_world(random, 2 + random() % 7, 3);
    for (uint64_t& b : w.budgets) b *= 4;
    w.layers[random() % w.layers.size()].pin = static_cast<int32_t>(random() % 3);
    w.layers[random() % w.layers.size()].pin = static_cast<int32_t>(random() % 3);
    const Optimum best = exhaustive(w, true);
    const Answer a = w.place("memory_balanced");
    INFO(round);
    CHECK((a.code == SY_OK && !a.closest) == best.found);
    if (!best.found) continue;
    ++possible;
    CHECK(w.judge(a).ratio == best.ratio);
    for (std::size_t i = 0; i < w.layers.size(); ++i)
      if (w.layers[i].pin >= 0)
        CHECK(w.layers[i].pin == a.device_of_stage[static_cast<std::size_t>(a.stage_of_layer[i])]);
  }
  CHECK(possible > 50);
}

TEST_CASE("pins that allow no contiguous placement are a configuration error") {
  World w = World::equal(3, 2);
  w.layers[0].pin = 0, w.layers[1].pin = 1, w.layers[2].pin = 0;
  CHECK(w.place("memory_balanced").code == SY_E_CONFIG);
  World large = World::equal(2000, 8);
  large.layers[0].pin = 0, large.layers[1000].pin = 1, large.layers[1999].pin = 0;
  CHECK(large.place("memory_balanced").code == SY_E_CONFIG);
}

TEST_CASE("12 equal layers on 4 devices: the largest is at most 1.2 times the mean") {
  World w = World::equal(12, 4);
  const Answer a = w.place("memory_balanced");
  REQUIRE(a.code == SY_OK);
  const auto peak = w.judge(a).peak;
  double sum = 0;
  for (const uint64_t p : peak) sum += static_cast<double>(p);
  CHECK(static_cast<double>(*std::max_element(peak.begin(), peak.end())) <= 1.2 * sum / 4);
}

TEST_CASE("nothing fits: the answer is what comes closest, and says so") {
  World w = World::equal(6, 2);
  w.budgets = {1000, 1000};
  const Answer a = w.place("memory_balanced");
  CHECK(a.code == SY_OK);
  CHECK(a.closest);
  CHECK(a.sizes() == std::vector<int64_t>{3, 3});
}

TEST_CASE("the reason names bottleneck, share and runner-up") {
  World w = World::equal(9, 3);
  w.budgets = {4000, 8000, 6000};
  const Answer a = w.place("memory_balanced");
  REQUIRE(a.code == SY_OK);
  INFO(a.text);
  CHECK(a.text.find("bottleneck cpu:") != std::string::npos);
  CHECK(a.text.find(" %)") != std::string::npos);
  CHECK(a.text.find("runner-up") != std::string::npos);
}

TEST_CASE("unequal devices get unequal parts") {
  World w = World::equal(32, 2);
  w.budgets = {22000, 10000};
  const Answer a = w.place("memory_balanced");
  REQUIRE(a.code == SY_OK);
  const auto sizes = a.sizes();
  CHECK(std::max(sizes[0], sizes[1]) >= 20);
}

TEST_CASE("one layer larger than all others does not leave the rest unbalanced") {
  World w = World::equal(9, 4);
  w.layers[0].weights = 5000;
  w.gpipe = true;  // more stages put no more micro-batches in flight
  const Answer a = w.place("memory_balanced");
  REQUIRE(a.code == SY_OK);
  const auto sizes = a.sizes();
  CHECK(sizes.size() == 4);
  CHECK(sizes[0] == 1);
  CHECK(*std::max_element(sizes.begin(), sizes.end()) <= 3);
}

TEST_CASE("the same input gives the same output") {
  std::mt19937 random(13);
  for (const std::size_t layers : {8, 200}) {
    World w = random_world(random, layers, 4);
    for (uint64_t& b : w.budgets) b *= 100;
    const Answer a = w.place("memory_balanced"), b = w.place("memory_balanced");
    CHECK(a.devices() == b.devices());
    CHECK(a.text == b.text);
  }
}

TEST_CASE("the search for large models comes within 3 % of exhaustive search") {
  std::mt19937 random(14);
  double worst = 0;
  for (int round = 0; round < 30; ++round) {
    World w = random_world(random, 40, 3);
    for (uint64_t& b : w.budgets) b *= 40;
    const Optimum best = exhaustive(w);
    w.evaluations = 0;
    const Answer a = w.place("memory_balanced");
    INFO(round);
    REQUIRE(a.code == SY_OK);
    CHECK(w.evaluations < 100);
    CHECK(w.judge(a).ratio <= best.ratio * 1.03);
    worst = std::max(worst, w.judge(a).ratio / best.ratio);
  }
  MESSAGE("worst: " << 100 * (worst - 1) << " % above the optimum");
}

TEST_CASE("1,000 layers on 16 devices take few judgements and little time") {
  for (const bool unequal : {false, true}) {
    std::mt19937 random(15);
    World w = random_world(random, 1000, 16);
    for (uint64_t& b : w.budgets) b = unequal ? b * 100 : 4000000;
    const auto begin = std::chrono::steady_clock::now();
    const Answer a = w.place("memory_balanced");
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    REQUIRE(a.code == SY_OK);
    MESSAGE(seconds << " s, " << w.evaluations << " judgements, ratio " << w.judge(a).ratio << ", "
                    << a.device_of_stage.size() << " stages");
    CHECK(w.evaluations < 80);
    CHECK(seconds < 2);
  }
}
