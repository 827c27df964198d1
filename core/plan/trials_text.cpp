// What "auto" chose from, or a sweep compared, as people and programs read it.
#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "plan/choose.hpp"
#include "plan/layer_list.hpp"
#include "report/text_table.hpp"

namespace switchyard {

namespace {

constexpr std::size_t most_rows = 40;
constexpr int bar_width = 24;

/// Its length is the time, against the slowest of the table.
std::string bar(double share) {
  std::string text;
  for (int i = 0; i < std::lround(share * bar_width); ++i) text += "█";
  return text;
}

void add_row(TextTable& table, const Trial& t, double slowest) {
  const std::string of = t.budget == no_budget ? "" : " of " + size_text(t.budget);
  table.add({t.what.policy, t.what.schedule, std::to_string(t.what.micro_batches), recompute_text(t.what.recompute),
             seconds_text(t.step_s), percent(t.idle), size_text(t.peak) + of + " on " + t.device,
             bar(t.step_s / slowest)});
}

/// The first reasons, each once with how many it stopped.
std::string reasons(const std::vector<Trial>& trials) {
  std::string text;
  std::size_t shown = 0;
  for (const Trial& t : trials) {
    if (t.fits || shown == 6) continue;
    ++shown;
    text += "no fit  " + combination_text(t.what) + ", recompute " + recompute_text(t.what.recompute) + ": " +
            t.why_not + "\n";
  }
  const auto all = std::count_if(trials.begin(), trials.end(), [](const Trial& t) { return !t.fits; });
  if (all > static_cast<long>(shown)) text += "no fit  " + std::to_string(all - shown) + " more\n";
  return text;
}

}  // namespace

std::string combination_text(const Combination& c) {
  return c.policy + ", " + c.schedule + ", " + std::to_string(c.micro_batches) +
         (c.micro_batches == 1 ? " micro-batch" : " micro-batches");
}

std::string recompute_text(const RecomputeConfig& r) {
  switch (r.mode) {
    case RecomputeConfig::Mode::none:
      return "none";
    case RecomputeConfig::Mode::all:
      return "all";
    case RecomputeConfig::Mode::automatic:
      return "auto";
    case RecomputeConfig::Mode::patterns:
      return "patterns";
  }
  return "";
}

std::string mixed_times_text(const std::vector<Trial>& trials) {
  std::set<int64_t> assumed;  // micro-batch counts
  bool measured = false;
  for (const Trial& t : trials) {
    if (t.step_s <= 0) continue;
    measured = measured || t.measured;
    if (!t.measured) assumed.insert(t.what.micro_batches);
  }
  if (!measured || assumed.empty()) return "";
  std::string counts;
  for (const int64_t n : assumed) counts += (counts.empty() ? "" : ", ") + std::to_string(n);
  return "times with " + counts + " micro-batches are assumed beside measured ones; --measure times all";
}

std::string trials_text(const std::vector<Trial>& trials) {
  std::vector<const Trial*> fit;
  for (const Trial& t : trials)
    if (t.fits) fit.push_back(&t);
  if (fit.empty()) return "nothing fits\n" + reasons(trials);
  const std::size_t rows = std::min(fit.size(), most_rows);
  double slowest = 0;
  for (std::size_t i = 0; i < rows; ++i) slowest = std::max(slowest, fit[i]->step_s);
  TextTable table(
      {Align::left, Align::left, Align::right, Align::left, Align::right, Align::right, Align::right, Align::left},
      {"policy", "schedule", "micro-batches", "recompute", "step", "idle", "fullest device", ""});
  for (std::size_t i = 0; i < rows; ++i) add_row(table, *fit[i], slowest > 0 ? slowest : 1);
  std::string text = table.text();
  if (fit.size() > rows) text += std::to_string(fit.size() - rows) + " slower ones are left out\n";
  if (const std::string mixed = mixed_times_text(trials); !mixed.empty()) text += "warning " + mixed + "\n";
  return text + reasons(trials);
}

std::string trials_json(const std::vector<Trial>& trials) {
  nlohmann::ordered_json all = nlohmann::ordered_json::array();
  for (const Trial& t : trials) {
    nlohmann::ordered_json one = {{"policy", t.what.policy},
                                  {"schedule", t.what.schedule},
                                  {"micro_batches", t.what.micro_batches},
                                  {"recompute", recompute_text(t.what.recompute)},
                                  {"fits", t.fits}};
    if (t.step_s > 0) {
      one["step_s"] = t.step_s;
      one["measured"] = t.measured;
      one["idle"] = t.idle;
      one["device"] = t.device;
      one["peak"] = t.peak;
      if (t.budget != no_budget) one["budget"] = t.budget;
    }
    if (t.missing > 0) one["missing"] = t.missing;
    if (!t.why_not.empty()) one["why_not"] = t.why_not;
    all.push_back(std::move(one));
  }
  return all.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace switchyard
