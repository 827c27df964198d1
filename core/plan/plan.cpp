#include "plan/plan.hpp"

#include <algorithm>
#include <numeric>

#include "base/dtype.hpp"
#include "config/layer_names.hpp"
#include "place/place.hpp"
#include "plan/memory.hpp"
#include "plan/program.hpp"
#include "plan/remarks.hpp"
#include "plugin/chosen.hpp"

namespace switchyard {

namespace {

class Planner {
 public:
  Planner(const Config& config, Registry& registry, Model& model)
      : config_(config), registry_(registry), model_(model) {
    plan_.rows = micro_batch_rows(config);
    plan_.micro_batches = static_cast<int>(plan_.rows.size());
    plan_.accumulate = config.train ? static_cast<int>(config.train->accumulate) : 1;
    plan_.batch = config.train ? config.train->batch : plan_.rows[0].count;
    shapes_ = &model.shapes(SY_TRAIN, plan_.largest_micro_batch());
    costs_ = model.costs(SY_TRAIN, plan_.largest_micro_batch());
    if (config.train) plan_.state_names = choose_optimizer(config, registry).states;
    schedule_ = choose_schedule(config, registry);
    plan_.schedule = schedule_.api().id;
  }

  Plan run(std::vector<PlanDevice> devices, bool one_device) {
    plan_.devices = std::move(devices);
    if (one_device) plan_.devices.resize(1), plan_.devices[0].budget = no_budget;
    const bool automatic = config_.train && config_.train->recompute.mode == RecomputeConfig::Mode::automatic;
    try {
      finish(one_device ? whole() : place(configured_recompute(false)));
    } catch (const Error& e) {
      if (e.code() != SY_E_INFEASIBLE || !automatic) throw;
      finish(fewest_recomputed(place(configured_recompute(true))));
      const auto count = std::count(plan_.recompute.begin(), plan_.recompute.end(), true);
      plan_.notes.push_back("recompute = \"auto\": " + std::to_string(count) + " of " +
                            std::to_string(plan_.recompute.size()) + " layers; without recomputing it does not fit");
    }
    return std::move(plan_);
  }

 private:
  MemoryInput memory_input() const {
    const int gradient_bytes = config_.precision.gradients == "bf16" ? 2 : 4;
    return {&model_, shapes_, &costs_, static_cast<int>(plan_.state_names.size()), gradient_bytes};
  }

  std::vector<bool> configured_recompute(bool automatic_on) const {
    std::vector<bool> on(model_.layers().size(), false);
    if (!config_.train) return on;
    const RecomputeConfig& r = config_.train->recompute;
    using Mode = RecomputeConfig::Mode;
    if (r.mode == Mode::all || (r.mode == Mode::automatic && automatic_on)) on.assign(on.size(), true);
    if (r.mode == Mode::patterns) {
      ErrorList errors;
      on = match_any(config_.layers, r.patterns, "train.recompute", errors);
      errors.raise();
    }
    for (const Layer& layer : model_.layers())
      if (layer.is_loss()) on[layer.index] = false;  // its forward makes the gradients; there is nothing to save
    return on;
  }

  /// Where the layers lie, recomputing only what the budgets ask for: those that cost most time are spared first.
  Placement fewest_recomputed(Placement p) const {
    std::vector<int> order(p.recompute.size());
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(),
                     [&](int a, int b) { return costs_[a].flops_forward > costs_[b].flops_forward; });
    if (judge(p).misfit_layer >= 0) return p;  // told by whoever finishes the plan
    for (const int layer : order) {
      if (!p.recompute[layer]) continue;
      p.recompute[layer] = false;
      p.recompute[layer] = judge(p).misfit_layer >= 0;
    }
    return p;
  }

  Placement whole() const {
    return {std::vector<int>(model_.layers().size(), 0), {0}, configured_recompute(false), "one device"};
  }

  Placement place(std::vector<bool> recompute) {
    const ChosenPolicy policy = choose_policy(config_, registry_);
    plan_.policy = policy.api().id;
    PlaceInput in;
    in.config = &config_;
    in.model = &model_;
    in.shapes = shapes_;
    in.costs = &costs_;
    in.devices = &plan_.devices;
    in.micro_batches = plan_.micro_batches;
    in.recompute = std::move(recompute);
    in.pins = plan_.policy == "explicit" ? explicit_pins(config_, plan_.devices)
                                         : std::vector<int>(model_.layers().size(), -1);
    in.fixed = fixed_of_layers();
    in.judge = [this](const Placement& p) { return judge(p); };
    return place_layers(policy, in);
  }

  /// Each layer's weights, gradients and states, as if it had a device to itself.
  std::vector<DeviceMemory> fixed_of_layers() const {
    std::vector<int> own(model_.layers().size());
    std::iota(own.begin(), own.end(), 0);
    std::vector<DeviceMemory> all(own.size());
    for (const Layer& layer : model_.layers()) all[layer.index] = fixed_memory(memory_input(), own, layer.index);
    return all;
  }

  std::vector<Stage> stages_of(const Placement& p) const {
    std::vector<Stage> stages;
    for (std::size_t l = 0; l < p.stage_of_layer.size(); ++l) {
      const int s = p.stage_of_layer[l], at = static_cast<int>(l);
      if (s == static_cast<int>(stages.size())) stages.push_back({s, p.device_of_stage[s], at, at});
      stages.back().last = at;
    }
    return stages;
  }

  std::vector<StageTimes> times_of(const std::vector<Stage>& stages, const std::vector<bool>& recompute) const {
    std::vector<StageTimes> times;
    for (const Stage& s : stages) {
      const double flops = plan_.devices[s.device].flops > 0 ? plan_.devices[s.device].flops : assumed_flops;
      StageTimes t;
      for (int l = s.first; l <= s.last; ++l) {
        const sy_cost& c = costs_[l];
        t.forward += c.flops_forward / flops;
        t.input += (c.flops_input + (recompute[l] ? c.flops_forward : 0)) / flops;
        t.weight += c.flops_weight / flops;
      }
      times.push_back(t);
    }
    return times;
  }

  std::vector<bool> splits_of(const std::vector<Stage>& stages) const {
    std::vector<bool> all;
    for (const Stage& s : stages) {
      bool any = false;
      for (int l = s.first; l <= s.last; ++l) any = any || model_.layers()[l].splits();
      all.push_back(any);
    }
    return all;
  }

  std::vector<std::vector<Action>> programs_of(const std::vector<Stage>& stages,
                                               const std::vector<StageTimes>& times) const {
    return run_schedule(schedule_.api(), schedule_.get(), stages, static_cast<int>(plan_.devices.size()),
                        plan_.micro_batches, times, splits_of(stages), plan_.schedule == "forward");
  }

  Prediction predict(const ProgramRun& run) const {
    Prediction p;
    p.step_s = run.seconds * plan_.accumulate;
    for (const double busy : run.busy) p.idle.push_back(run.seconds > 0 ? 1 - busy / run.seconds : 0);
    return p;
  }

  Judgement judge(const Placement& p) const {
    const std::vector<Stage> stages = stages_of(p);
    const std::vector<StageTimes> times = times_of(stages, p.recompute);
    const auto programs = programs_of(stages, times);
    std::vector<Edge> edges = find_edges(model_, *shapes_, stages, p.stage_of_layer, plan_.schedule != "forward");
    choose_capacities(programs, stages, edges, plan_.micro_batches);
    Judgement j;
    j.memory = plan_memory(memory_input(), stages, p.stage_of_layer, p.recompute, programs, edges);
    j.prediction = predict(run_programs(programs, stages, edges, times, transfer_seconds));
    find_misfit(stages, j);
    return j;
  }

  static double transfer_seconds(const Edge& e) {
    return assumed_latency_s + static_cast<double>(e.bytes) / assumed_bytes_per_s;
  }

  /// The first layer, in the order of the model, of a device that is over its budget: the one with which the sum of
  /// what its layers need by themselves passes it.
  void find_misfit(const std::vector<Stage>& stages, Judgement& j) const {
    for (const Stage& s : stages) {
      const uint64_t budget = plan_.devices[s.device].budget;
      const DeviceMemory& m = j.memory[s.device];
      if (budget == no_budget || m.peak() <= budget) continue;
      j.misfit_bytes = m.peak() - budget;
      j.misfit_layer = first_over(stages, s.device, m, budget);
      return;
    }
  }
  int first_over(const std::vector<Stage>& stages, int device, const DeviceMemory& m, uint64_t budget) const {
    const std::vector<DeviceMemory> fixed = fixed_of_layers();
    uint64_t weight_sum = 0;
    double activation_sum = 0, sum = 0;
    for (const Stage& s : stages)
      for (int l = s.first; s.device == device && l <= s.last; ++l) activation_sum += activation_share(l);
    int last = 0;
    for (const Stage& s : stages)
      for (int l = s.first; s.device == device && l <= s.last; ++l) {
        last = l;
        weight_sum += fixed[l].fixed();
        sum += activation_share(l);
        const double so_far = static_cast<double>(weight_sum) + (activation_sum > 0 ? sum / activation_sum : 1) *
                                                                    static_cast<double>(m.activations + m.in_flight);
        if (so_far > static_cast<double>(budget)) return l;
      }
    return last;
  }
  double activation_share(int layer) const {
    double bytes = static_cast<double>(costs_[layer].bytes_saved + costs_[layer].bytes_workspace);
    for (const Port& p : shapes_->out[layer]) bytes += static_cast<double>(byte_count(p));
    return bytes;
  }

  void finish(const Placement& p) {
    plan_.stages = stages_of(p);
    plan_.stage_of_layer = p.stage_of_layer;
    plan_.recompute = p.recompute;
    plan_.why = p.why;
    const std::vector<StageTimes> times = times_of(plan_.stages, p.recompute);
    plan_.train = programs_of(plan_.stages, times);
    plan_.edges = find_edges(model_, *shapes_, plan_.stages, plan_.stage_of_layer, plan_.schedule != "forward");
    choose_capacities(plan_.train, plan_.stages, plan_.edges, plan_.micro_batches);
    plan_.memory =
        plan_memory(memory_input(), plan_.stages, plan_.stage_of_layer, plan_.recompute, plan_.train, plan_.edges);
    plan_.prediction = predict(run_programs(plan_.train, plan_.stages, plan_.edges, times, transfer_seconds));
    for (const StageTimes& t : times) plan_.prediction.forward_s.push_back(t.forward);
    Judgement j{plan_.memory, plan_.prediction, -1, 0};
    find_misfit(plan_.stages, j);
    if (j.misfit_layer >= 0) throw misfit_error(config_, model_, plan_, j.misfit_layer);
    add_remarks(plan_, model_, [this] { return judge(whole()); });
  }

  const Config& config_;
  Registry& registry_;
  Model& model_;
  Plan plan_;
  const Shapes* shapes_ = nullptr;
  std::vector<sy_cost> costs_;
  ChosenSchedule schedule_;
};

}  // namespace

std::vector<RowRange> micro_batch_rows(const Config& config) {
  const int64_t batch = config.train ? config.train->batch : config.schedule.micro_batches;
  const int64_t passes = config.train ? config.train->accumulate : 1;
  if (batch % passes != 0)
    throw Error(SY_E_CONFIG, config.train->batch_place,
                "train.batch = " + std::to_string(batch) +
                    " samples cannot be divided among train.accumulate = " + std::to_string(passes) + " passes");
  try {
    return split_rows(batch / passes, config.schedule.micro_batches);
  } catch (const Error& e) {
    throw Error(SY_E_CONFIG, config.schedule.micro_batches_place,
                "schedule.micro_batches = " + std::to_string(config.schedule.micro_batches) + " is more than the " +
                    std::to_string(batch / passes) + " samples of a pass (train.batch / train.accumulate)");
  }
}

Plan make_plan(const Config& config, Registry& registry, Model& model) {
  return Planner(config, registry, model).run(resolve_devices(config, registry), false);
}

Plan make_single_device_plan(const Config& config, Registry& registry, Model& model) {
  return Planner(config, registry, model).run(resolve_devices(config, registry), true);
}

}  // namespace switchyard
