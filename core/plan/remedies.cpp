#include "plan/remedies.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "plan/layer_list.hpp"

namespace switchyard {

namespace {

/// Changes as --set takes them, and how they read.
struct Change {
  std::vector<std::pair<std::string, std::string>> values;  // key, value in TOML
  std::string text() const {
    std::string all;
    for (const auto& [key, value] : values) all += (all.empty() ? "" : ", ") + key + " = " + value;
    return all;
  }
  std::vector<std::string> sets() const {
    std::vector<std::string> all;
    for (const auto& [key, value] : values) all.push_back(key + "=" + value);
    return all;
  }
  Change& operator+=(const Change& more) {
    values.insert(values.end(), more.values.begin(), more.values.end());
    return *this;
  }
};

std::string quoted(const std::string& text) { return "\"" + text + "\""; }

std::string list_of(const std::vector<std::string>& items) {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : ", ") + quoted(item);
  return "[" + text + "]";
}

/// Mean over the devices that have a stage.
double idle_share(const Plan& plan) {
  double sum = 0;
  int used = 0;
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    if (std::none_of(plan.stages.begin(), plan.stages.end(),
                     [&](const Stage& s) { return s.device == static_cast<int>(d); }))
      continue;
    sum += plan.prediction.idle[d];
    ++used;
  }
  return used == 0 ? 0 : sum / used;
}

class Remedies {
 public:
  Remedies(const Config& config, const Model& model, const Plan& failed,
           const std::function<Plan(const Config&)>& attempt)
      : config_(config), model_(model), failed_(failed), attempt_(attempt), written_(to_toml(config)) {
    const double actions = static_cast<double>(model.layers().size()) +
                           2.0 * static_cast<double>(failed.devices.size()) * static_cast<double>(failed.micro_batches);
    left_ = actions > 50000 ? 4 : 12;
  }

  std::string text() {
    try_recompute();
    try_policy();
    try_device();
    try_micro_batches();
    if (helps_.empty()) return nothing_alone();
    std::stable_sort(helps_.begin(), helps_.end(), [](const Help& a, const Help& b) { return a.step_s < b.step_s; });
    std::string all;
    for (const Help& h : helps_) all += (all.empty() ? "" : " or ") + h.text;
    return "; what helps: " + all + (helps_.size() == 1 ? "; checked" : "; each is checked");
  }

 private:
  struct Help {
    double step_s;
    std::string text;
  };

  /// The plan with these changes, if there is one that fits.
  std::optional<Plan> planned(const Change& change) {
    if (left_-- <= 0) return std::nullopt;
    try {
      Plan plan = attempt_(parse_config(written_, config_.file, change.sets()));
      if (plan.misfit_layer >= 0) return std::nullopt;
      return plan;
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  void helps(const Change& change, const Plan& plan, const std::string& what) {
    helps_.push_back(
        {plan.prediction.step_s, change.text() + " (" + (what.empty() ? "" : what + ", ") + step(plan) + ")"});
  }
  std::string step(const Plan& plan) const {
    if (failed_.stages.empty() || failed_.prediction.step_s <= 0) return "step " + seconds_text(plan.prediction.step_s);
    const double more = plan.prediction.step_s / failed_.prediction.step_s - 1;
    return std::abs(more) < 0.005 ? "same step"
                                  : std::string("step ") + (more < 0 ? "-" : "+") + percent(std::abs(more));
  }
  /// Tries one change; where it helps `what` says more about it.
  std::optional<Plan> try_change(const Change& change) {
    std::optional<Plan> plan = planned(change);
    if (!plan) tried_ += change;
    return plan;
  }

  /// Recomputing and micro-batches were among what was tried, unless they are written out.
  bool chooses_itself() const {
    return config_.placement.policy.name == "auto" || config_.schedule.type.name == "auto";
  }

  static Change recompute() { return {{{"train.recompute", quoted("auto")}}}; }
  void try_recompute() {
    if (!config_.train) return;
    using Mode = RecomputeConfig::Mode;
    const RecomputeConfig& now = config_.train->recompute;
    if (now.mode == Mode::automatic || now.mode == Mode::all || (chooses_itself() && !now.given)) return;
    if (const auto plan = try_change(recompute()))
      helps(recompute(), *plan, "recomputes " + layer_list(model_, plan->recompute));
  }

  void try_policy() {
    const std::string& policy = config_.placement.policy.name;
    if (policy == "memory_balanced" || policy == "auto" || failed_.devices.size() < 2) return;
    const Change balanced{{{"placement.policy", quoted("memory_balanced")}}};
    const auto plan = try_change(balanced);
    if (!plan) return;
    const Change cut = cuts_of(*plan);
    if (const auto same = cut.values.empty() ? std::nullopt : planned(cut))
      helps(cut, *same, "");
    else
      helps(balanced, *plan, "");
  }
  /// The same placement for a contiguous policy that was told its cuts, where its stages lie on the devices in order.
  Change cuts_of(const Plan& plan) const {
    const Value& options = config_.placement.policy.table("contiguous");
    if (config_.placement.policy.name != "contiguous" || plan.stages.size() > 8 || options.find("counts") ||
        options.find("weights"))
      return {};
    std::vector<std::string> cuts;
    for (const Stage& s : plan.stages) {
      if (s.device != s.index) return {};
      if (s.index > 0) cuts.push_back(model_.layers()[s.first].name);
    }
    return {{{"placement.contiguous.cuts", list_of(cuts)}}};
  }

  /// The next device of the last one's backend, with the same budget.
  void try_device() {
    const PlanDevice& last = failed_.devices.back();
    const auto colon = last.name.find(':');
    if (colon == std::string::npos || !failed_.machine.empty()) return;  // a described machine has no more
    std::vector<std::string> names;
    int number = 0;
    for (const PlanDevice& d : failed_.devices) {
      names.push_back(d.name);
      if (d.name.compare(0, colon + 1, last.name, 0, colon + 1) == 0)
        number = std::max(number, std::stoi(d.name.substr(colon + 1)) + 1);
    }
    names.push_back(last.name.substr(0, colon + 1) + std::to_string(number));
    Change more{{{"devices.use", list_of(names)}}};
    if (!config_.devices.memory.empty() && !config_.devices.memory_for_each) {
      std::string budgets;
      for (std::size_t d = 0; d <= failed_.devices.size(); ++d) {
        const auto bytes = config_.devices.memory_of(std::min(d, failed_.devices.size() - 1));
        budgets += (budgets.empty() ? "" : ", ") + (bytes ? std::to_string(*bytes) : quoted("auto"));
      }
      more.values.emplace_back("devices.memory", "[" + budgets + "]");
    }
    if (const auto plan = try_change(more)) helps(more, *plan, "");
  }

  static Change micro_batches(int64_t count) { return {{{"schedule.micro_batches", std::to_string(count)}}}; }
  /// As few as fit, doubling.
  void try_micro_batches() {
    if (!config_.train || (chooses_itself() && !config_.schedule.micro_batches_given)) return;
    const int64_t now = config_.schedule.micro_batches, most = config_.train->batch / config_.train->accumulate;
    if (most <= now) return;
    std::optional<Plan> plan = try_change(micro_batches(most));
    if (!plan) return;
    int64_t count = most;
    for (int64_t fewer = 2 * now; fewer < most && left_ > 0; fewer *= 2)
      if (auto enough = planned(micro_batches(fewer))) {
        plan = std::move(enough), count = fewer;
        break;
      }
    helps(micro_batches(count), *plan, "idle " + percent(idle_share(*plan)));
  }

  std::string nothing_alone() {
    if (tried_.values.empty()) return "";
    left_ = std::max(left_, 1);
    if (tried_.values.size() > 1)
      if (const auto plan = planned(tried_))
        return "; what helps: " + tried_.text() + ", all together (" + step(*plan) + "); checked";
    return "; checked, and not enough" + std::string(tried_.values.size() > 1 ? " even together: " : ": ") +
           tried_.text();
  }

  const Config& config_;
  const Model& model_;
  const Plan& failed_;
  const std::function<Plan(const Config&)>& attempt_;
  std::string written_;
  int left_;  // plans that may still be made
  std::vector<Help> helps_;
  Change tried_;  // what does not help by itself
};

}  // namespace

Error with_remedies(const Error& misfit, const Config& config, const Model& model, const Plan& failed,
                    const std::function<Plan(const Config&)>& attempt) {
  Error error(misfit.code(), misfit.what() + Remedies(config, model, failed, attempt).text());
  for (const auto& [key, value] : misfit.notes()) error.note(key, value);
  return error;
}

}  // namespace switchyard
