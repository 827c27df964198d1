#include "plan/planner.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "config/layer_names.hpp"
#include "plan/use_measured.hpp"

namespace switchyard {

namespace {

/// Bytes of the tensors at a layer's border that bits of `kept` name.
uint64_t kept_bytes(uint64_t kept, const std::vector<Port>& ports) {
  uint64_t bytes = 0;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (kept >> i & 1) bytes += byte_count(ports[i]);
  return bytes;
}

}  // namespace

Planner::Planner(const Config& config, Registry& registry, Model& model, PlanMachine machine)
    : config_(config), registry_(registry), model_(model) {
  plan_.machine = std::move(machine.name);
  plan_.about = std::move(machine.about);
  plan_.devices = std::move(machine.devices);
  plan_.links = std::move(machine.links);
  plan_.rows = micro_batch_rows(config);
  plan_.micro_batches = static_cast<int>(plan_.rows.size());
  plan_.accumulate = config.train ? static_cast<int>(config.train->accumulate) : 1;
  plan_.batch = config.train ? config.train->batch : plan_.rows[0].count;
  shapes_ = &model.shapes(SY_TRAIN, plan_.largest_micro_batch());
  costs_ = model.costs(SY_TRAIN, plan_.largest_micro_batch());
  if (config.train) plan_.state_names = choose_optimizer(config, registry).states;
  schedule_ = choose_schedule(config, registry);
  plan_.schedule = schedule_.api().id;
  if (config.schedule.type.name == "file") file_ = ScheduleFile::read(*config.schedule.file);
  times_ = LayerTimes(model_, *shapes_, costs_, plan_.devices);
  if (plan_.machine.empty())
    use_measured(config_, MeasuredCosts::read(costs_file(config_)), model_, *shapes_, plan_, times_, costs_);
  if (config_.train) set_updates();
  layouts_.emplace(Layouts::Input{&model_, &plan_.devices, &plan_.links, &times_, &schedule_, memory_input(),
                                  plan_.micro_batches, plan_.accumulate});
}

/// Where it was not measured, an update is bound by memory.
void Planner::set_updates() {
  const MemoryInput in = memory_input();
  const bool copied = config_.precision.type != "fp32";
  for (PlanDevice& d : plan_.devices)
    if (d.update_s <= 0) d.update_s = update_seconds_by_memory(d, in.states, in.gradient_bytes, copied);
}

Plan Planner::draft() { return drawn(place(), file()); }

Plan Planner::whole_draft() { return drawn(whole(), nullptr); }

Layout Planner::on_one_device() const { return lay_out(whole(), nullptr); }

Layout Planner::without_chosen(const Plan& plan) const {
  Placement p;
  p.stage_of_layer = plan.stage_of_layer;
  for (const Stage& s : plan.stages) p.device_of_stage.push_back(s.device);
  p.recompute = configured_recompute();
  return layouts_->of(p, plan.schedule == "file" ? file() : nullptr);
}

Plan Planner::drawn(const Placement& placement, const ScheduleFile* file) const {
  Plan plan = plan_;
  if (file) plan.schedule = "file";
  static_cast<Layout&>(plan) = lay_out(placement, file);
  plan.layer_costs = layer_costs(plan);
  plan.why = placement.why;
  plan.closest = placement.closest;
  return plan;
}

Layout Planner::lay_out(const Placement& p, const ScheduleFile* file) const {
  return p.chosen ? layouts_->of(p, file) : layouts_->fitted(p, free_to_recompute(), file);
}

std::vector<LayerCost> Planner::layer_costs(const Layout& layout) const {
  std::vector<LayerCost> all;
  for (std::size_t l = 0; l < costs_.size(); ++l) {
    const sy_cost& c = costs_[l];
    const int layer = static_cast<int>(l);
    all.push_back({c.flops_forward, c.flops_input, c.flops_weight,
                   c.bytes_saved + kept_bytes(c.keep_in, shapes_->in[l]) + kept_bytes(c.keep_out, shapes_->out[l]),
                   std::max(c.bytes_workspace, c.bytes_workspace_backward),
                   layouts_->layer_times(layer, layout.device_of_layer(layer), layout.recompute[l])});
  }
  return all;
}

MemoryInput Planner::memory_input() const {
  const int gradient_bytes = config_.precision.gradients == "bf16" ? 2 : 4;
  return {&model_, shapes_, &costs_, static_cast<int>(plan_.state_names.size()), gradient_bytes};
}

/// Layers that the configuration recomputes.
std::vector<bool> Planner::configured_recompute() const {
  std::vector<bool> on(model_.layers().size(), false);
  if (!config_.train) return on;
  const RecomputeConfig& r = config_.train->recompute;
  if (r.mode == RecomputeConfig::Mode::all) on.assign(on.size(), true);
  if (r.mode == RecomputeConfig::Mode::patterns) {
    ErrorList errors;
    on = match_any(config_.layers, r.patterns, "train.recompute", errors);
    errors.raise();
  }
  return without_losses(std::move(on));
}

/// Layers of which it says "auto".
std::vector<bool> Planner::free_to_recompute() const {
  const bool automatic = config_.train && config_.train->recompute.mode == RecomputeConfig::Mode::automatic;
  return without_losses(std::vector<bool>(model_.layers().size(), automatic));
}

/// A loss's forward makes the gradients: there is nothing to recompute.
std::vector<bool> Planner::without_losses(std::vector<bool> layers) const {
  for (const Layer& layer : model_.layers())
    if (layer.is_loss()) layers[layer.index] = false;
  return layers;
}

Placement Planner::whole() const {
  Placement p;
  p.stage_of_layer.assign(model_.layers().size(), 0);
  p.device_of_stage = {0};
  p.recompute = configured_recompute();
  p.why = "one device";
  return p;
}

Placement Planner::place() {
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
  in.recompute = configured_recompute();
  in.free = free_to_recompute();
  in.pins =
      plan_.policy == "explicit" ? explicit_pins(config_, plan_.devices) : std::vector<int>(model_.layers().size(), -1);
  in.fixed = layouts_->fixed();
  in.lay_out = [this](const Placement& p) { return lay_out(p, nullptr); };
  return place_layers(policy, in);
}

}  // namespace switchyard
