// What "auto" chooses, and what a sweep compares.
#include "plan/choose.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "planning.hpp"

using namespace planning;

namespace {

const std::vector<std::string> automatic = {"placement.policy=auto", "schedule.type=auto"};

/// Uneven layers, so that policies differ.
const std::string uneven = R"(
[model]
input = { shape = [16] }
[[layer]]
type = "plain_linear"
name = "wide"
out = 256
[[layer]]
type = "plain_linear"
name = "h"
repeat = 6
out = 64
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

std::vector<Trial> sweep(const std::string& text, const std::vector<std::string>& sets) {
  const Config config = parse_config(text, "test.toml", sets);
  BatchSpec spec;
  spec.input_shape = config.model.input->shape;
  spec.input_dtype = dtype::f32;
  const auto model = Model::create(config, registry(), spec, micro_batch_rows(config)[0].count);
  const PlanMachine machine = resolve_machine(config, registry());
  return try_all(config, registry(), *model, machine, all_choices(config, registry(), machine.devices.size()));
}

/// The same combination written out in the configuration.
Plan written_out(const std::string& text, const Combination& c) {
  return make(text, {"placement.policy=" + c.policy, "schedule.type=" + c.schedule,
                     "schedule.micro_batches=" + std::to_string(c.micro_batches)})
      .plan;
}

}  // namespace

TEST_CASE("auto takes the fastest of everything it names, and each was tried as if it were written out") {
  const std::string text = uneven + on(3) + training;
  const Plan plan = make(text, automatic).plan;
  REQUIRE(plan.tried.size() > 20);
  std::set<std::string> policies, schedules;
  std::set<int64_t> counts;
  double fastest = 1e9;
  for (const Trial& t : plan.tried) {
    policies.insert(t.what.policy), schedules.insert(t.what.schedule), counts.insert(t.what.micro_batches);
    REQUIRE(t.fits);
    const Plan same = written_out(text, t.what);
    CHECK(t.step_s == same.prediction.step_s);
    CHECK(t.peak == same.memory[t.fullest].peak());
    fastest = std::min(fastest, t.step_s);
  }
  CHECK(plan.prediction.step_s <= fastest * 1.001);
  CHECK(plan.prediction.step_s == plan.tried[0].step_s);
  CHECK(plan.policy == plan.tried[0].what.policy);
  CHECK(plan.schedule == plan.tried[0].what.schedule);
  CHECK(plan.micro_batches == plan.tried[0].what.micro_batches);
  CHECK(policies.count("contiguous") + policies.count("memory_balanced") + policies.count("round_robin") == 3);
  CHECK(policies.count("explicit") == 0);  // no rule places the layers
  CHECK(schedules.count("gpipe") + schedules.count("1f1b") == 2);
  CHECK(schedules.count("forward") == 0);
  CHECK(counts == std::set<int64_t>{1, 2, 4, 8});  // up to 4 for each of 3 devices
  CHECK(contains(plan.notes.at(0), "auto: " + combination_text(plan.tried[0].what) + " is the fastest of " +
                                       std::to_string(plan.tried.size()) + " tried; next "));
}

TEST_CASE("what the file says stays: a policy, a schedule, micro-batches, recompute") {
  const std::string text = uneven + on(3) + training;
  for (const Trial& t : make(text, {"schedule.type=auto", "placement.policy=contiguous"}).plan.tried)
    CHECK(t.what.policy == "contiguous");
  for (const Trial& t : make(text, {"placement.policy=auto", "schedule.type=gpipe"}).plan.tried) {
    CHECK(t.what.schedule == "gpipe");
    CHECK(t.what.micro_batches == 1);  // its default; never chosen with a schedule that is named
  }
  for (const Trial& t : make(text, with(automatic, {"schedule.micro_batches=3"})).plan.tried)
    CHECK(t.what.micro_batches == 3);
  const Plan all = make(text, with(automatic, {"train.recompute=true"})).plan;
  CHECK(std::count(all.recompute.begin(), all.recompute.end(), true) == 7);  // all but the loss
  CHECK(make(text, {"placement.policy=contiguous"}).plan.tried.empty());
}

TEST_CASE("a choice of the file changes the plan") {
  const std::string text = uneven + on(3) + training;
  const Plan free = make(text, automatic).plan;
  const Plan bound = make(text, with(automatic, {"schedule.micro_batches=1"})).plan;
  CHECK(free.micro_batches > 1);
  CHECK(bound.prediction.step_s > free.prediction.step_s);
}

TEST_CASE("where little memory is, auto takes what fits, and says how many combinations do not") {
  const std::string text =
      deep(8, 64) + on(2) + "[train]\nbatch = 2048\nsteps = 1\noptimizer = { type = \"adamw\", lr = 1e-3 }\n";
  const Plan roomy = make(text, automatic).plan;
  const auto least = std::min_element(roomy.tried.begin(), roomy.tried.end(),
                                      [](const Trial& a, const Trial& b) { return a.peak < b.peak; });
  REQUIRE(roomy.tried[0].peak > least->peak);
  uint64_t budget = 0;
  for (const DeviceMemory& m : written_out(text, least->what).memory) budget = std::max(budget, m.peak());
  const Plan tight = make(text, with(automatic, {"devices.memory=" + std::to_string(budget)})).plan;
  CHECK(tight.tried[0].peak <= budget);
  CHECK(tight.prediction.step_s > roomy.prediction.step_s);
  const auto misfits = std::count_if(tight.tried.begin(), tight.tried.end(), [](const Trial& t) { return !t.fits; });
  CHECK(misfits > 0);
  CHECK(contains(tight.notes.at(0), std::to_string(misfits) + " do not fit"));
  for (const Trial& t : tight.tried) CHECK(t.fits == t.why_not.empty());
  CHECK(refusal(text, with(automatic, {"devices.memory=20KiB"})) != "");
}

TEST_CASE("a sweep holds every policy, schedule, count and recompute once, the best first") {
  const std::vector<Trial> trials = sweep(uneven + on(2) + training, {"schedule.micro_batches=3"});
  std::set<std::string> seen;
  bool behind_misfit = false;
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const Trial& t = trials[i];
    CHECK(seen.insert(combination_text(t.what) + recompute_text(t.what.recompute)).second);
    behind_misfit = behind_misfit || !t.fits;
    CHECK(t.fits == !behind_misfit);
    if (i > 1 && t.fits) CHECK(t.step_s >= trials[i - 1].step_s);
  }
  CHECK(seen.count("contiguous, gpipe, 3 micro-batchesnone") == 1);
  CHECK(seen.count("round_robin, 1f1b, 8 micro-batchesall") == 1);
  CHECK(seen.count("memory_balanced, gpipe, 1 micro-batchall") == 1);
}

TEST_CASE("table, JSON and picture tell the same") {
  const std::vector<Trial> trials = sweep(uneven + on(2) + training, {});
  const std::string text = trials_text(trials), svg = trials_svg(trials, "a <b>.toml");
  const auto json = nlohmann::json::parse(trials_json(trials));
  REQUIRE(json.size() == trials.size());
  CHECK(json[0]["policy"] == trials[0].what.policy);
  CHECK(json[0]["step_s"] == trials[0].step_s);
  CHECK(json[0]["peak"] == trials[0].peak);
  CHECK(contains(text, "policy"));
  // The line below the header is the best's.
  const std::string first = text.substr(text.find('\n') + 1, text.find('\n', text.find('\n') + 1));
  CHECK(first.rfind(trials[0].what.policy, 0) == 0);
  CHECK(contains(first, " " + trials[0].what.schedule + " "));
  std::size_t dots = 0;
  for (std::size_t at = svg.find("<circle class=\"dot"); at != std::string::npos;
       at = svg.find("<circle class=\"dot", at + 1))
    ++dots;
  std::set<std::string> schedules;
  for (const Trial& t : trials) schedules.insert(t.what.schedule);
  CHECK(dots == trials.size() + schedules.size() + 1);  // and the key
  CHECK(contains(svg, "a &lt;b&gt;.toml"));
}
