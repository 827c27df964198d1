// Layers that are free to be recomputed: both balanced policies against exhaustive search over splits and subsets.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "../../support/text.hpp"
#include "every_split.hpp"

using switchyard::test::contains;

namespace {

constexpr double unreached = 1e300;

struct BestSubset {
  double step = unreached;   // of all splits and subsets that fit
  double ratio = unreached;  // of all splits that fit with nothing recomputed
};

BestSubset exhaustive_subsets(const World& w) {
  BestSubset best;
  const std::size_t n = w.layers.size();
  for_every_split(n, w.budgets.size(), [&](const auto& stages, const auto& devices) {
    for (uint32_t subset = 0; subset < 1u << n; ++subset) {
      Flags recompute(n, 0);
      bool allowed = true;
      for (std::size_t i = 0; i < n; ++i) {
        recompute[i] = subset >> i & 1;
        allowed = allowed && (w.layers[i].free || !recompute[i]);
      }
      if (!allowed) continue;
      const World::Judgement j = w.judge(stages, devices, recompute);
      if (j.misfit >= 0) continue;
      best.step = std::min(best.step, j.seconds);
      if (subset == 0) best.ratio = std::min(best.ratio, j.ratio);
    }
  });
  return best;
}

}  // namespace

TEST_CASE("time_balanced: no split with any subset recomputed has a shorter step") {
  std::mt19937 random(31);
  int recomputed = 0, infeasible = 0;
  for (int round = 0; round < 200; ++round) {
    World w = random_free_world(random, 1 + random() % 5, 1 + random() % 3);
    for (std::size_t d = 0; d < w.budgets.size(); ++d) w.speeds.push_back(1 + static_cast<double>(random() % 3));
    const BestSubset best = exhaustive_subsets(w);
    const Answer a = w.place("time_balanced");
    INFO(round);
    if (best.step == unreached) {
      ++infeasible;
      CHECK(a.closest);
      continue;
    }
    REQUIRE(a.code == SY_OK);
    CHECK(!a.closest);
    CHECK(w.judge(a).misfit == -1);
    CHECK(w.judge(a).seconds == doctest::Approx(best.step));
    recomputed += contains(a.text, "recomputed");
  }
  MESSAGE(recomputed << " with layers recomputed, " << infeasible << " infeasible");
  CHECK(recomputed > 10);
  CHECK(infeasible < 150);
}

TEST_CASE("memory_balanced: the smallest share without recomputing, else the shortest step with it") {
  std::mt19937 random(32);
  int recomputed = 0, infeasible = 0;
  for (int round = 0; round < 200; ++round) {
    World w = random_free_world(random, 1 + random() % 5, 1 + random() % 3);
    const BestSubset best = exhaustive_subsets(w);
    const Answer a = w.place("memory_balanced");
    INFO(round);
    if (best.step == unreached) {
      ++infeasible;
      CHECK(a.closest);
      continue;
    }
    REQUIRE(a.code == SY_OK);
    const World::Judgement j = w.judge(a);
    CHECK(j.misfit == -1);
    if (best.ratio < unreached) {
      CHECK(j.ratio == best.ratio);
      CHECK(!contains(a.text.substr(0, a.text.find("runner-up")), "recomputed"));
    } else {
      CHECK(j.seconds == doctest::Approx(best.step));
      CHECK(contains(a.text, "recomputed"));
      ++recomputed;
    }
  }
  MESSAGE(recomputed << " with layers recomputed, " << infeasible << " infeasible");
  CHECK(recomputed > 10);
  CHECK(infeasible < 150);
}
