#include "plan/remarks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "plan/layer_list.hpp"
#include "plan/memory.hpp"

namespace switchyard {

namespace {

std::string times(double factor) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f x", factor);
  return text;
}

int devices_in_use(const Plan& plan) {
  std::set<int> used;
  for (const Stage& s : plan.stages) used.insert(s.device);
  return static_cast<int>(used.size());
}

void warn_of_few_micro_batches(Plan& plan) {
  const int stages = static_cast<int>(plan.stages.size());
  if (plan.micro_batches >= stages || devices_in_use(plan) < 2) return;
  const auto bubble = [&](int64_t m) { return percent((stages - 1.0) / (static_cast<double>(m) + stages - 1.0)); };
  const int64_t rows = plan.batch / plan.accumulate, better = std::min<int64_t>(rows, 2 * stages);
  std::string text = "schedule.micro_batches = " + std::to_string(plan.micro_batches) + " is below the " +
                     std::to_string(stages) + " stages: devices wait " + bubble(plan.micro_batches) + " of the time; ";
  text += better > plan.micro_batches
              ? std::to_string(better) + " make it " + bubble(better) +
                    ": --set schedule.micro_batches=" + std::to_string(better)
              : "more need a larger train.batch (now " + std::to_string(plan.batch) + " samples)";
  plan.warnings.push_back(text);
}

void warn_of_returns(Plan& plan) {
  if (plan.schedule == "interleaved" || plan.schedule == "zbv") return;  // made for several stages on each device
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    const int n = returns_to(plan, static_cast<int>(d));
    if (n == 0) continue;
    const int needed = devices_in_use(plan) - 1;
    std::string text = "activations return to " + plan.devices[d].name + " " +
                       (n == 1 ? "once" : std::to_string(n) + " times") + " per micro-batch";
    if (plan.policy != "contiguous")
      text += "; contiguous needs " + std::to_string(needed) + (needed == 1 ? " hand-over" : " hand-overs") +
              " instead of " + std::to_string(hand_overs(plan, false)) + ": --set placement.policy=contiguous";
    plan.warnings.push_back(text);
    return;  // one line says it for all devices
  }
}

void warn_of_idle_devices(Plan& plan) {
  std::vector<bool> used(plan.devices.size(), false);
  for (const Stage& s : plan.stages) used[s.device] = true;
  const auto idle = std::count(used.begin(), used.end(), false);
  std::string names;
  int named = 0;
  for (std::size_t d = 0; d < used.size() && named < 3; ++d)
    if (!used[d]) names += (named++ > 0 ? ", " : "") + plan.devices[d].name;
  if (idle == 1)
    plan.warnings.push_back(names + " has no layer; take it out of devices.use, or place more layers on it");
  if (idle > 1)
    plan.warnings.push_back(std::to_string(idle) + " of " + std::to_string(used.size()) + " devices have no layer (" +
                            names + (idle > named ? ", ..." : "") +
                            "); take them out of devices.use, or place more layers on them");
}

/// Only where speeds are known; the first of several is enough.
void warn_of_slow_edges(Plan& plan, const Model& model) {
  for (const Edge& e : plan.edges) {
    const Stage &from = plan.stages[e.from], &to = plan.stages[e.to];
    if (e.backward || e.capacity == 0) continue;
    const Link link = plan.links.between(from.device, to.device);
    if (link.basis == Basis::assumed || plan.devices[to.device].basis == Basis::assumed) continue;
    const double computes = plan.times[e.to].forward;
    if (e.seconds <= computes) continue;
    plan.warnings.push_back("the edge from stage " + std::to_string(e.from) + " to stage " + std::to_string(e.to) +
                            " (" + link.path + ") takes " + seconds_text(e.seconds) + ", longer than stage " +
                            std::to_string(e.to) + " computes (" + seconds_text(computes) + "); with " +
                            layer_list(model, to.first, to.last) + " on " + plan.devices[from.device].name +
                            " it is gone");
    return;
  }
}

/// What train.recompute = "auto" chose, and its price.
void note_recompute(Plan& plan, const Model& model, const Planner& planner) {
  if (std::count(plan.recompute.begin(), plan.recompute.end(), true) == 0) return;
  const Layout plain = planner.without_chosen(plan);
  std::vector<bool> chosen(plan.recompute.size());
  for (std::size_t l = 0; l < chosen.size(); ++l) chosen[l] = plan.recompute[l] && !plain.recompute[l];
  const auto count = std::count(chosen.begin(), chosen.end(), true);
  if (count == 0) return;
  std::string text = "train.recompute = \"auto\" recomputes " + std::to_string(count) + " of " +
                     std::to_string(chosen.size()) + " layers, " + layer_list(model, chosen) + ": step +" +
                     percent(plan.prediction.step_s / plain.prediction.step_s - 1);
  if (plain.misfit_layer >= 0)
    text += "; without it " + plan.devices[plain.device_of_layer(plain.misfit_layer)].name + " is " +
            size_text(plain.misfit_bytes) + " short";
  plan.notes.push_back(text);
}

void note_one_device(Plan& plan, const Planner& planner) {
  if (devices_in_use(plan) < 2) return;
  const Layout alone = planner.on_one_device();
  const PlanDevice& device = plan.devices[0];
  const uint64_t peak = alone.memory[0].peak();
  if (peak > device.budget) {
    plan.notes.push_back("it does not fit on " + device.name + " alone: " + size_text(peak) + " of " +
                         size_text(device.budget) + " (" + size_text(peak - device.budget) + " short)");
    return;
  }
  const std::string of = device.budget == no_budget ? ", no budget" : " of " + size_text(device.budget);
  const double here = plan.prediction.step_s, there = alone.prediction.step_s;
  std::string speed;
  if (here > 0 && there > 0)
    speed = there >= here ? " (" + times(there / here) + " faster)" : " (" + times(here / there) + " slower)";
  plan.notes.push_back("it fits on " + device.name + " alone (" + size_text(peak) + of + "); one device would take " +
                       seconds_text(there) + " a step, this plan " + seconds_text(here) + speed);
}

struct Item {
  const char* name;
  uint64_t bytes;
};

Item largest_item(const DeviceMemory& m) {
  const Item items[] = {{"weights", m.weights},     {"fp32 copies of weights", m.masters},
                        {"gradients", m.gradients}, {"optimizer states", m.states},
                        {"edges", m.edges},         {"activations", m.activations}};
  return *std::max_element(std::begin(items), std::end(items),
                           [](const Item& a, const Item& b) { return a.bytes < b.bytes; });
}

/// What the layers before `layer` on its device take by themselves.
uint64_t fixed_before(const Config& config, const Model& model, const Plan& plan, int layer) {
  const MemoryInput in{&model, nullptr, nullptr, static_cast<int>(plan.state_names.size()),
                       config.precision.gradients == "bf16" ? 2 : 4};
  std::vector<int> group(model.layers().size(), 1);
  for (int l = 0; l < layer; ++l) group[l] = plan.device_of_layer(l) == plan.device_of_layer(layer) ? 0 : 1;
  return fixed_memory(in, group, 2)[0].fixed();
}

/// "the 2 layers behind it and ": those of its device.
std::string later_layers(const Model& model, const Plan& plan, int layer) {
  int n = 0;
  for (int l = layer + 1; l < static_cast<int>(model.layers().size()); ++l)
    n += plan.device_of_layer(l) == plan.device_of_layer(layer);
  return n == 0 ? "" : "the " + (n == 1 ? std::string("layer") : std::to_string(n) + " layers") + " behind it and ";
}

}  // namespace

void add_remarks(Plan& plan, const Model& model, const Planner& planner) {
  warn_of_few_micro_batches(plan);
  warn_of_returns(plan);
  warn_of_slow_edges(plan, model);
  warn_of_idle_devices(plan);
  note_one_device(plan, planner);
  note_recompute(plan, model, planner);
}

Error misfit_error(const Config& config, const Model& model, const Plan& plan) {
  const int layer = plan.misfit_layer;
  const int d = plan.device_of_layer(layer);
  const PlanDevice& device = plan.devices[d];
  const DeviceMemory& m = plan.memory[d];
  const uint64_t before = std::min(fixed_before(config, model, plan, layer), device.budget);
  const Layer& misfit = model.layers()[layer];
  const Item item = largest_item(m);
  Error error(SY_E_INFEASIBLE, misfit.place,
              misfit.text() + " does not fit on " + device.name + ": needs " + size_text(m.peak() - before) + " with " +
                  later_layers(model, plan, layer) + "the activations, " + size_text(device.budget - before) +
                  " left of " + size_text(device.budget) + " (" + size_text(m.peak() - device.budget) +
                  " short); largest item: " + item.name + ", " + size_text(item.bytes) +
                  (plan.closest ? "; nothing fits: no split found by " + plan.policy + " comes closer" : ""));
  error.note("layer", misfit.name)
      .note("stage", std::to_string(plan.stage_of_layer[layer]))
      .note("device", device.name);
  error.note("needed_bytes", std::to_string(m.peak())).note("budget_bytes", std::to_string(device.budget));
  return error;
}

}  // namespace switchyard
