// train.recompute = "auto": as few seconds as fit, against every subset; and what policies may say about it.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "planning.hpp"
#include "saver.hpp"

using namespace planning;

namespace {

/// Even halves; recomputes layer 1 where it is free to, and tells what the core would.
struct Stubborn {
  static constexpr const char* id = "p_stubborn";
  static constexpr const char* help = "recomputes layer 1";
  explicit Stubborn(const sy::config&) {}
  void place(const sy_place& in, sy_placed& out) {
    for (uint32_t l = 0; l < in.n_layers; ++l) out.stage_of_layer[l] = l < in.n_layers / 2 ? 0 : 1;
    out.device_of_stage[0] = 0, out.device_of_stage[1] = 1;
    out.n_stages = 2;
    std::vector<uint8_t> chosen(in.n_layers, 0);
    sy_evaluation e{};
    e.size = sizeof e;
    e.recompute = chosen.data();
    const sy_candidate c{sizeof c, 2, out.stage_of_layer, out.device_of_stage, nullptr};
    sy::check(in.evaluate(in.self, &c, &e, nullptr), "evaluate");
    std::string text = "layer 1 says " + std::to_string(in.layers[1]->recompute) + ", the loss " +
                       std::to_string(in.layers[in.n_layers - 1]->recompute) + ", the core chose";
    for (uint32_t l = 0; l < in.n_layers; ++l)
      if (chosen[l]) text += " " + std::to_string(l);
    sy::host()->text_add(out.why, text.c_str());
    if (in.layers[1]->recompute == SY_RECOMPUTE_FREE) out.recompute[1] = 1;
  }
};

constexpr sy_export stubborn_exports[] = {sy::export_policy<Stubborn>()};
constexpr sy_plugin stubborn_plugin{SY_PLUGIN_MAGIC,
                                    sizeof(sy_plugin),
                                    SY_ABI_MAJOR,
                                    SY_ABI_MINOR,
                                    "test-stubborn",
                                    "1.0",
                                    stubborn_exports,
                                    std::size(stubborn_exports),
                                    0,
                                    sy::attach};

Registry& with_stubborn() {
  static Registry& all = [&]() -> Registry& {
    with_saver().add(&stubborn_plugin);
    return registry();
  }();
  return all;
}

/// Layers of uneven cost; those that save little cost little, as a rule.
std::vector<One> random_layers(std::mt19937& random, int n) {
  std::vector<One> layers;
  for (int l = 0; l < n; ++l) {
    const int saves = static_cast<int>(random() % 2000);
    layers.push_back({saves, 1000 * (1 + saves / 4 + static_cast<int>(random() % 1000))});
  }
  return layers;
}

std::string names_of(uint32_t subset) {
  std::string text = "train.recompute=[";
  for (int l = 0; subset >> l; ++l)
    if (subset >> l & 1) text += (text.back() == '[' ? "\"s." : ", \"s.") + std::to_string(l) + "\"";
  return subset == 0 ? "train.recompute=false" : text + "]";
}

struct Setting {
  std::string text;
  std::vector<std::string> sets;
  Planned with(const std::string& set) const {
    std::vector<std::string> all = sets;
    all.push_back(set);
    return make(text, all, with_stubborn());
  }
  std::string refused(const std::string& set) const {
    std::vector<std::string> all = sets;
    all.push_back(set);
    return refusal(text, all, with_stubborn());
  }
};

/// A budget between what the fullest device takes with everything recomputed and with nothing.
Setting tight(std::mt19937& random, const std::vector<One>& layers, const std::string& policy, double share) {
  Setting s{model_of(layers) + on(2) + training, {"placement.policy=" + policy, "schedule.micro_batches=4"}};
  // Where a device has several stages, 1F1B's order follows the times; under GPipe all are alive in any order.
  if (random() % 2 || policy == "round_robin") s.sets.push_back("schedule.type=gpipe");
  const auto fullest = [&](const char* recompute) {
    const Plan plan = s.with(std::string("train.recompute=") + recompute).plan;
    return std::max(plan.memory[0].peak(), plan.memory[1].peak());
  };
  const double least = static_cast<double>(fullest("true")), most = static_cast<double>(fullest("false"));
  s.sets.push_back("devices.memory=" + std::to_string(static_cast<int64_t>(least + share * (most - least))));
  return s;
}

}  // namespace

TEST_CASE("no subset of a device's layers that fits takes fewer seconds than the one that was chosen") {
  std::mt19937 random(41);
  int chose = 0;
  for (int round = 0; round < 12; ++round) {
    const std::vector<One> layers = random_layers(random, 6);
    const Setting s = tight(random, layers, round % 2 ? "round_robin" : "contiguous", 0.1 + 0.07 * round);
    const Plan chosen = s.with("train.recompute=auto").plan;
    const auto work_on = [&](const Plan& plan, int device) {
      int work = 0;
      for (int l = 0; l < 6; ++l)
        if (plan.recompute[l] && plan.device_of_layer(l) == device) work += layers[l].work;
      return work;
    };
    std::vector<int> least(2, 1 << 30);
    double shortest = 1e300;
    for (uint32_t subset = 0; subset < 64; ++subset) {
      if (!s.refused(names_of(subset)).empty()) continue;
      const Plan plan = s.with(names_of(subset)).plan;
      for (int d = 0; d < 2; ++d) least[d] = std::min(least[d], work_on(plan, d));
      shortest = std::min(shortest, plan.prediction.step_s);
    }
    CAPTURE(round);
    CHECK(chosen.misfit_layer == -1);
    for (int d = 0; d < 2; ++d) CHECK(work_on(chosen, d) == least[d]);
    // One stage on each device: the step is a sum along a path, and shorter stages make it shorter.
    if (chosen.policy == "contiguous") CHECK(chosen.prediction.step_s == doctest::Approx(shortest).epsilon(1e-9));
    chose += std::count(chosen.recompute.begin(), chosen.recompute.end(), true) > 0;
  }
  CHECK(chose > 6);
}

TEST_CASE("of many layers none is recomputed that need not be, and the price is near that of a fractional choice") {
  std::mt19937 random(42);
  for (const double share : {0.1, 0.5, 0.9}) {
    const std::vector<One> layers = random_layers(random, 60);
    const Setting s = tight(random, layers, "contiguous", share);
    const Plan chosen = s.with("train.recompute=auto").plan;
    CAPTURE(share);
    CHECK(chosen.misfit_layer == -1);
    std::string names = "train.recompute=[", last;
    for (int l = 0; l < 60; ++l) {
      if (!chosen.recompute[l]) continue;
      names += (names.back() == '[' ? "\"s." : ", \"s.") + std::to_string(l) + "\"";
      last = ", \"s." + std::to_string(l) + "\"";
    }
    CHECK(s.refused(names + "]").empty());
    names.resize(names.size() - last.size());
    CHECK(contains(s.refused(names + "]"), "does not fit"));
  }
}

TEST_CASE("what fits is not recomputed; what does not fit even so is refused") {
  std::mt19937 random(43);
  const std::vector<One> layers = random_layers(random, 8);
  Setting s = tight(random, layers, "contiguous", 1.0);
  const Plan plan = s.with("train.recompute=auto").plan;
  CHECK(std::count(plan.recompute.begin(), plan.recompute.end(), true) == 0);
  s.sets.back() = "devices.memory=1KiB";
  CHECK(contains(s.refused("train.recompute=auto"), "does not fit"));
}

TEST_CASE("the note says which layers are recomputed, what that costs, and what is short without it") {
  std::mt19937 random(44);
  const Setting s = tight(random, random_layers(random, 8), "contiguous", 0.3);
  const Plan plan = s.with("train.recompute=auto").plan;
  const auto note = std::find_if(plan.notes.begin(), plan.notes.end(),
                                 [](const std::string& n) { return contains(n, "train.recompute"); });
  REQUIRE(note != plan.notes.end());
  INFO(*note);
  CHECK(contains(*note, "of 9 layers, s."));
  CHECK(contains(*note, ": step +"));
  CHECK(contains(*note, " short"));
}

TEST_CASE("the reason quotes the peaks of the plan as it is, recomputing included") {
  std::mt19937 random(45);
  const Setting s = tight(random, random_layers(random, 8), "memory_balanced", 0.2);
  const Plan plan = s.with("train.recompute=auto").plan;
  REQUIRE(std::count(plan.recompute.begin(), plan.recompute.end(), true) > 0);
  const uint64_t fullest = std::max(plan.memory[0].peak(), plan.memory[1].peak());
  char text[32];
  std::snprintf(text, sizeof text, ": at most %.1f KiB of ", static_cast<double>(fullest) / 1024);
  INFO(plan.why);
  CHECK(contains(plan.why, text));
  CHECK(contains(plan.why, "recomputed"));
}

TEST_CASE("a policy sees which layers are free and what the core would choose, and may choose itself") {
  std::mt19937 random(46);
  Setting s = tight(random, {{1000, 1000}, {1000, 9000}, {1000, 8000}, {10, 1000}, {10, 1000}}, "p_stubborn", 0.75);
  const Plan plan = s.with("train.recompute=auto").plan;
  INFO(plan.why);
  CHECK(contains(plan.why, "layer 1 says 2, the loss 0, the core chose 0"));
  CHECK(plan.recompute == std::vector<bool>{false, true, false, false, false, false});
  CHECK(contains(s.with("train.recompute=true").plan.why, "layer 1 says 1, the loss 0"));
}
