// Plans of one configuration under several policies, schedules, micro-batch counts and with or without recompute: what
// "auto" chooses from, and what a sweep compares.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.hpp"

namespace switchyard {

/// placement.policy or schedule.type is "auto".
bool leaves_a_choice(const Config& config);

/// What "auto" may choose from. A policy or schedule that is named stays; "auto" stands for all there are (`explicit`
/// only where rules place every layer, never `forward`). With schedule.type = "auto" and no schedule.micro_batches: 1,
/// 2, 4, ... up to 4 for each device. Without train.recompute: none, or as few as fit.
std::vector<Combination> open_choices(const Config& config, Registry& registry, std::size_t n_devices);
/// What a sweep compares: every policy and schedule; micro-batches as configured and 1, 2, 4, ... up to 4 for each
/// device; recompute as configured, all and none.
std::vector<Combination> all_choices(const Config& config, Registry& registry, std::size_t n_devices);

/// Samples of the largest micro-batch of each combination, ascending.
std::vector<int64_t> micro_batch_sizes(const Config& config, const std::vector<Combination>& combinations);

/// The configuration with the combination's names and numbers in place of its own.
Config settled(const Config& config, const Combination& combination);
/// With what "auto" chose for this plan in place of "auto".
Config settled(const Config& config, const Plan& plan);

/// Plans each. The best comes first: of those that fit and are within a thousandth of the fastest, the one whose
/// fullest device is least full; then those that fit by time; then those that do not fit by missing bytes; then those
/// that could not be planned at all. What a combination was refused for is in its why_not. [ctl]
std::vector<Trial> try_all(const Config& config, Registry& registry, Model& model, const PlanMachine& machine,
                           const std::vector<Combination>& combinations);

/// The fastest plan that fits, with what else was tried in Plan::tried and, in a line, in its notes. Throws
/// SY_E_INFEASIBLE with the reason of the one that comes nearest when none fits. [ctl]
Plan choose_plan(const Config& config, Registry& registry, Model& model, const PlanMachine& machine);

/// A table, the best first, with a bar for each time: policy, schedule, micro-batches, recompute, step, idle, fullest
/// device; then what does not fit, and why.
std::string trials_text(const std::vector<Trial>& trials);
/// [{"policy": ..., "schedule": ..., "micro_batches": 4, "recompute": "none", "fits": true, "step_s": ..., "measured":
/// false, "idle": ..., "device": "cpu:0" (the fullest), "peak": bytes, "budget": bytes, "missing": bytes, "why_not":
/// ...}]; absent where it does not apply.
std::string trials_json(const std::vector<Trial>& trials);
/// Step time against the fullest device's peak, a dot for each trial that fits, a colour for each schedule, hollow with
/// recompute; hovering over a dot names it. A self-contained SVG for light and dark.
std::string trials_svg(const std::vector<Trial>& trials, const std::string& title);

/// Says so where some times are measured and some are not; else "".
std::string mixed_times_text(const std::vector<Trial>& trials);
/// "contiguous, gpipe, 8 micro-batches"
std::string combination_text(const Combination& combination);
/// "none", "all", "auto", "patterns"
std::string recompute_text(const RecomputeConfig& recompute);

}  // namespace switchyard
