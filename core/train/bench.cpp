#include "train/bench.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <set>

#include "plan/layer_list.hpp"
#include "report/progress.hpp"
#include "report/text_table.hpp"
#include "train/batch_spec.hpp"
#include "train/random_batch.hpp"

namespace switchyard {

namespace {

constexpr int most_batches = 4;  // made before the clock starts

double flops_of(const Plan& plan) {
  double flops = 0;
  for (const LayerCost& c : plan.layer_costs) flops += c.flops_forward + c.flops_input + c.flops_weight;
  // Costs are of the largest micro-batch; the samples of a step make up a whole number of them, or nearly so.
  return flops / static_cast<double>(plan.largest_micro_batch()) * static_cast<double>(plan.batch);
}

int devices_with_layers(const Plan& plan) {
  std::set<int> used;
  for (const Stage& s : plan.stages) used.insert(s.device);
  return static_cast<int>(used.size());
}

double timed_step(Session& session, const Batch& batch) {
  const auto begin = std::chrono::steady_clock::now();
  session.begin_step(batch);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// One more step, of which everything is recorded.
void add_devices(Session& session, const Batch& batch, BenchResult& result) {
  for (const DevicePeak& p : session.pipe().peaks()) result.devices.push_back({p.device, p.planned, p.measured, 0});
  session.pipe().record(true);
  const StepResult step = session.train_step(batch);
  session.pipe().record(false);
  for (std::size_t d = 0; d < result.devices.size(); ++d)
    if (step.busy[d].value_or(0) > 0 && step.passes_s > 0) result.devices[d].idle = 1 - *step.busy[d] / step.passes_s;
}

}  // namespace

double BenchResult::median_s() const {
  std::vector<double> all = seconds;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

double BenchResult::mfu() const { return peak_flops > 0 ? flops / (median_s() * peak_flops) : 0; }

BenchResult bench(Session& session, const BenchOptions& options) {
  if (options.steps < 1) throw Error(SY_E_ARGUMENT, "steps = " + std::to_string(options.steps) + ": wanted 1 or more");
  if (options.warm_up < 0)
    throw Error(SY_E_ARGUMENT, "warm_up = " + std::to_string(options.warm_up) + ": wanted 0 or more");
  const Plan& plan = session.pipe().plan();
  std::vector<Batch> batches;
  for (int64_t i = 0; i < std::min<int64_t>(most_batches, options.steps); ++i)
    batches.push_back(random_batch(session.model(), plan.batch, 0, i));
  const auto batch = [&](int64_t i) -> const Batch& { return batches[static_cast<std::size_t>(i) % batches.size()]; };

  BenchResult result;
  // Where results are late, a call begins a step and waits for the one before: from the third call on that is a whole
  // one.
  const int64_t before = session.pipe().results_are_late() ? std::max<int64_t>(options.warm_up, 2) : options.warm_up;
  for (int64_t i = 0; i < before; ++i) timed_step(session, batch(i));
  for (int64_t i = 0; i < options.steps; ++i) result.seconds.push_back(timed_step(session, batch(i)));
  session.finish_step();
  add_devices(session, batch(0), result);
  result.samples = plan.batch;
  if (const auto context = token_context(session.config())) result.tokens = plan.batch * *context;
  result.flops = flops_of(plan);
  result.peak_flops = options.peak_flops * devices_with_layers(plan);
  return result;
}

std::string bench_text(const BenchResult& r) {
  const auto [fastest, slowest] = std::minmax_element(r.seconds.begin(), r.seconds.end());
  const double s = r.median_s();
  const bool tokens = r.tokens > 0;
  std::string text = "step    " + seconds_text(s) + ", median of " + std::to_string(r.seconds.size()) + " (" +
                     seconds_text(*fastest) + " to " + seconds_text(*slowest) + ")\nspeed   " +
                     count_text(static_cast<double>(tokens ? r.tokens : r.samples) / s) +
                     (tokens ? "tokens/s, " : "samples/s, ") + count_text(r.flops / s) +
                     "FLOP/s by the layers' formulas";
  if (r.peak_flops > 0) text += ", " + percent(r.mfu()) + " of " + count_text(r.peak_flops) + "FLOP/s (MFU)";
  TextTable table({Align::left, Align::right, Align::right, Align::right}, {"device", "planned", "measured", "idle"});
  for (const BenchDevice& d : r.devices)
    table.add({d.name, size_text(d.planned), size_text(d.measured), percent(d.idle)});
  return text + "\n" + table.text();
}

std::string bench_json(const BenchResult& r) {
  const double s = r.median_s();
  nlohmann::ordered_json json = {
      {"seconds", r.seconds}, {"median_s", s}, {"samples_per_s", static_cast<double>(r.samples) / s}};
  if (r.tokens > 0) json["tokens_per_s"] = static_cast<double>(r.tokens) / s;
  json["flops"] = r.flops;
  if (r.peak_flops > 0) json["mfu"] = r.mfu();
  for (const BenchDevice& d : r.devices)
    json["devices"].push_back({{"name", d.name}, {"planned", d.planned}, {"measured", d.measured}, {"idle", d.idle}});
  return json.dump();
}

}  // namespace switchyard
