#include "plan/plan.hpp"

#include <algorithm>
#include <numeric>
#include <optional>

#include "config/layer_names.hpp"
#include "place/place.hpp"
#include "plan/lay_out.hpp"
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

  Plan run(PlanMachine machine, bool one_device) {
    plan_.machine = std::move(machine.name);
    plan_.about = std::move(machine.about);
    plan_.devices = std::move(machine.devices);
    plan_.links = std::move(machine.links);
    if (one_device) plan_.devices.resize(1), plan_.devices[0].budget = no_budget;
    times_ = LayerTimes(model_, *shapes_, costs_, plan_.devices);
    layouts_.emplace(Layouts::Input{&model_, &plan_.devices, &plan_.links, &times_, &schedule_, memory_input(),
                                    plan_.micro_batches, plan_.accumulate});
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
    if (layouts_->of(p).misfit_layer >= 0) return p;  // told by whoever finishes the plan
    for (const int layer : order) {
      if (!p.recompute[layer]) continue;
      p.recompute[layer] = false;
      p.recompute[layer] = layouts_->of(p).misfit_layer >= 0;
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
    in.links = &plan_.links;
    in.times = &times_;
    in.micro_batches = plan_.micro_batches;
    in.recompute = std::move(recompute);
    in.pins = plan_.policy == "explicit" ? explicit_pins(config_, plan_.devices)
                                         : std::vector<int>(model_.layers().size(), -1);
    in.fixed = fixed_of_layers();
    in.lay_out = [this](const Placement& p) { return layouts_->of(p); };
    return place_layers(policy, in);
  }

  /// Each layer's weights, gradients and states, as if it had a device to itself.
  std::vector<DeviceMemory> fixed_of_layers() const {
    std::vector<int> own(model_.layers().size());
    std::iota(own.begin(), own.end(), 0);
    return fixed_memory(memory_input(), own, own.size());
  }

  /// Bytes of the tensors at a layer's border that bits of `kept` name.
  static uint64_t kept_bytes(uint64_t kept, const std::vector<Port>& ports) {
    uint64_t bytes = 0;
    for (std::size_t i = 0; i < ports.size(); ++i)
      if (kept >> i & 1) bytes += byte_count(ports[i]);
    return bytes;
  }

  std::vector<LayerCost> layer_costs() const {
    std::vector<LayerCost> all;
    for (std::size_t l = 0; l < costs_.size(); ++l) {
      const sy_cost& c = costs_[l];
      const int layer = static_cast<int>(l);
      all.push_back({c.flops_forward, c.flops_input, c.flops_weight,
                     c.bytes_saved + kept_bytes(c.keep_in, shapes_->in[l]) + kept_bytes(c.keep_out, shapes_->out[l]),
                     std::max(c.bytes_workspace, c.bytes_workspace_backward),
                     layouts_->layer_times(layer, plan_.device_of_layer(layer), plan_.recompute[l])});
    }
    return all;
  }

  void finish(const Placement& p) {
    static_cast<Layout&>(plan_) = layouts_->of(p);
    plan_.layer_costs = layer_costs();
    plan_.why = p.why;
    if (plan_.misfit_layer >= 0) throw misfit_error(config_, model_, plan_, plan_.misfit_layer);
    add_remarks(plan_, model_, [this] { return layouts_->of(whole()); });
  }

  const Config& config_;
  Registry& registry_;
  Model& model_;
  Plan plan_;
  const Shapes* shapes_ = nullptr;
  std::vector<sy_cost> costs_;
  LayerTimes times_;
  ChosenSchedule schedule_;
  std::optional<Layouts> layouts_;
};

}  // namespace

Basis Plan::basis() const {
  Basis least = Basis::measured;
  for (const Stage& s : stages) least = std::min(least, devices[s.device].basis);
  for (const Edge& e : edges)
    if (e.capacity > 0) least = std::min(least, links.between(stages[e.from].device, stages[e.to].device).basis);
  return least;
}

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
  return Planner(config, registry, model).run(resolve_machine(config, registry), false);
}

Plan make_single_device_plan(const Config& config, Registry& registry, Model& model) {
  return Planner(config, registry, model).run(resolve_machine(config, registry), true);
}

}  // namespace switchyard
