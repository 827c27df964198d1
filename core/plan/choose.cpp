#include "plan/choose.hpp"

#include <algorithm>
#include <set>

#include "plan/layer_list.hpp"
#include "plan/planner.hpp"
#include "plan/remarks.hpp"

namespace switchyard {

namespace {

using Mode = RecomputeConfig::Mode;

/// Times closer than this share count as equal: the costs are not known better.
constexpr double equal_times = 1e-3;

std::vector<std::string> policies(const Config& config, Registry& registry) {
  std::vector<std::string> names;
  for (const std::string& name : registry.names(SY_KIND_POLICY))
    if (name != "explicit" || !config.placement.rules.empty()) names.push_back(name);
  return names;
}

std::vector<std::string> schedules(Registry& registry) {
  std::vector<std::string> names;
  for (const std::string& name : registry.names(SY_KIND_SCHEDULE))
    if (name != "forward") names.push_back(name);
  return names;
}

/// 1, 2, 4, ... up to four for each device and the samples of a pass. More shorten the bubble little and make each
/// product smaller, which the simulation does not see.
std::vector<int64_t> micro_batch_counts(const Config& config, std::size_t n_devices) {
  const int64_t rows = config.train ? config.train->batch / config.train->accumulate : config.schedule.micro_batches;
  std::vector<int64_t> counts;
  for (int64_t n = 1; n <= std::min<int64_t>(rows, 4 * static_cast<int64_t>(n_devices)); n *= 2) counts.push_back(n);
  return counts;
}

std::vector<Combination> product(const std::vector<std::string>& policies, const std::vector<std::string>& schedules,
                                 const std::vector<int64_t>& micro_batches,
                                 const std::vector<RecomputeConfig>& recompute) {
  std::vector<Combination> all;
  for (const std::string& policy : policies)
    for (const std::string& schedule : schedules)
      for (const int64_t n : micro_batches)
        for (const RecomputeConfig& r : recompute) all.push_back({policy, schedule, n, r});
  return all;
}

/// Which device is fullest, and how full.
void add_fullest(const Plan& plan, Trial& trial) {
  const auto share = [&](std::size_t d) {
    const uint64_t budget = plan.devices[d].budget;
    return static_cast<double>(plan.memory[d].peak()) / (budget == no_budget ? 1.0 : static_cast<double>(budget));
  };
  const bool budgets =
      std::any_of(plan.devices.begin(), plan.devices.end(), [](const PlanDevice& d) { return d.budget != no_budget; });
  for (std::size_t d = 1; d < plan.devices.size(); ++d) {
    if (budgets && plan.devices[d].budget == no_budget) continue;
    if (share(d) > share(trial.fullest) || (budgets && plan.devices[trial.fullest].budget == no_budget))
      trial.fullest = static_cast<int>(d);
  }
  trial.device = plan.devices[trial.fullest].name;
  trial.peak = plan.memory[trial.fullest].peak();
  trial.budget = plan.devices[trial.fullest].budget;
}

Trial judged(const Combination& what, const Plan& plan) {
  Trial trial;
  trial.what = what;
  trial.fits = plan.misfit_layer < 0;
  trial.missing = plan.misfit_bytes;
  trial.step_s = plan.prediction.step_s;
  int used = 0;
  for (std::size_t d = 0; d < plan.devices.size(); ++d)
    if (!plan.train[d].empty()) trial.idle += plan.prediction.idle[d], ++used;
  trial.idle /= std::max(1, used);
  trial.measured =
      std::ranges::all_of(plan.stages, [&](const Stage& s) { return plan.devices[s.device].basis == Basis::measured; });
  add_fullest(plan, trial);
  if (!trial.fits)
    trial.why_not =
        size_text(plan.misfit_bytes) + " short on " + plan.devices[plan.device_of_layer(plan.misfit_layer)].name;
  return trial;
}

Trial attempt(const Config& config, Registry& registry, Model& model, const PlanMachine& machine,
              const Combination& what) {
  try {
    const Config one = settled(config, what);
    return judged(what, Planner(one, registry, model, machine).draft());
  } catch (const Error& e) {
    Trial refused;
    refused.what = what;
    refused.why_not = e.what();
    return refused;
  }
}

bool comes_before(const Trial& a, const Trial& b) {
  if (a.fits != b.fits) return a.fits;
  if (!a.fits) return (a.step_s > 0 ? a.missing : UINT64_MAX) < (b.step_s > 0 ? b.missing : UINT64_MAX);
  if (a.step_s != b.step_s) return a.step_s < b.step_s;
  return a.peak < b.peak;
}

bool is_slower(const Trial& trial, const Trial& fastest) {
  return !trial.fits || trial.step_s > fastest.step_s * (1 + equal_times);
}

/// Of those that are as fast as the fastest, the one that leaves most room on its fullest device comes first.
void sort_best_first(std::vector<Trial>& trials) {
  std::stable_sort(trials.begin(), trials.end(), comes_before);
  if (trials.empty() || !trials[0].fits) return;
  const auto end = std::find_if(trials.begin(), trials.end(), [&](const Trial& t) { return is_slower(t, trials[0]); });
  const auto best =
      std::min_element(trials.begin(), end, [](const Trial& a, const Trial& b) { return a.peak < b.peak; });
  std::rotate(trials.begin(), best, best + 1);
}

std::string choice_text(const std::vector<Trial>& trials) {
  std::string text =
      "auto: " + combination_text(trials[0].what) + " is the fastest of " + std::to_string(trials.size()) + " tried";
  const auto other =
      std::find_if(trials.begin() + 1, trials.end(), [&](const Trial& t) { return is_slower(t, trials[0]); });
  if (other != trials.end() && other->fits)
    text += "; next " + combination_text(other->what) + " (+" + percent(other->step_s / trials[0].step_s - 1) + ")";
  const auto misfits = std::count_if(trials.begin(), trials.end(), [](const Trial& t) { return !t.fits; });
  if (misfits > 0) text += "; " + std::to_string(misfits) + " do not fit";
  if (const std::string mixed = mixed_times_text(trials); !mixed.empty()) text += "; " + mixed;
  return text;
}

}  // namespace

bool leaves_a_choice(const Config& config) {
  return config.placement.policy.name == "auto" || config.schedule.type.name == "auto";
}

std::vector<Combination> open_choices(const Config& config, Registry& registry, std::size_t n_devices) {
  const bool any_policy = config.placement.policy.name == "auto", any_schedule = config.schedule.type.name == "auto";
  std::vector<int64_t> counts = {config.schedule.micro_batches};
  if (any_schedule && !config.schedule.micro_batches_given) counts = micro_batch_counts(config, n_devices);
  RecomputeConfig recompute = config.train ? config.train->recompute : RecomputeConfig();
  if (!recompute.given) recompute.mode = Mode::automatic;
  return product(any_policy ? policies(config, registry) : std::vector{config.placement.policy.name},
                 any_schedule ? schedules(registry) : std::vector{config.schedule.type.name}, counts, {recompute});
}

std::vector<Combination> all_choices(const Config& config, Registry& registry, std::size_t n_devices) {
  std::vector<int64_t> counts = micro_batch_counts(config, n_devices);
  if (std::find(counts.begin(), counts.end(), config.schedule.micro_batches) == counts.end())
    counts.push_back(config.schedule.micro_batches);
  RecomputeConfig none, all;
  all.mode = Mode::all;
  std::vector<RecomputeConfig> recompute = {none, all};
  if (config.train && config.train->recompute.mode != Mode::none && config.train->recompute.mode != Mode::all)
    recompute.push_back(config.train->recompute);
  std::vector<std::string> schedule_names = schedules(registry);
  if (config.schedule.type.name == "file") schedule_names.push_back("file");
  return product(policies(config, registry), schedule_names, counts, recompute);
}

std::vector<int64_t> micro_batch_sizes(const Config& config, const std::vector<Combination>& combinations) {
  std::set<int64_t> sizes;
  for (const Combination& c : combinations) sizes.insert(micro_batch_rows(settled(config, c))[0].count);
  return {sizes.begin(), sizes.end()};
}

Config settled(const Config& config, const Combination& c) {
  Config one = config;
  one.placement.policy.name = c.policy;
  one.schedule.type.name = c.schedule;
  one.schedule.micro_batches = c.micro_batches;
  if (one.train) one.train->recompute = c.recompute;
  return one;
}

Config settled(const Config& config, const Plan& plan) {
  return plan.tried.empty() ? config : settled(config, plan.tried[0].what);
}

std::vector<Trial> try_all(const Config& config, Registry& registry, Model& model, const PlanMachine& machine,
                           const std::vector<Combination>& combinations) {
  std::vector<Trial> trials;
  for (const Combination& each : combinations) trials.push_back(attempt(config, registry, model, machine, each));
  sort_best_first(trials);
  return trials;
}

Plan choose_plan(const Config& config, Registry& registry, Model& model, const PlanMachine& machine) {
  std::vector<Trial> trials =
      try_all(config, registry, model, machine, open_choices(config, registry, machine.devices.size()));
  const Config best = settled(config, trials.at(0).what);
  Planner planner(best, registry, model, machine);
  Plan plan = planner.draft();
  if (plan.misfit_layer >= 0) throw misfit_error(best, model, plan);
  plan.notes.insert(plan.notes.begin(), choice_text(trials));
  plan.tried = std::move(trials);
  add_remarks(plan, model, planner);
  return plan;
}

}  // namespace switchyard
