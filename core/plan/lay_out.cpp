#include "plan/lay_out.hpp"

#include <algorithm>
#include <numeric>

#include "base/dtype.hpp"
#include "plan/live_activations.hpp"
#include "plan/recompute.hpp"
#include "schedule/run_schedule.hpp"

namespace switchyard {

std::vector<Stage> stages_of(const Placement& p) {
  std::vector<Stage> stages;
  for (std::size_t l = 0; l < p.stage_of_layer.size(); ++l) {
    const int s = p.stage_of_layer[l], at = static_cast<int>(l);
    if (s == static_cast<int>(stages.size())) stages.push_back({s, p.device_of_stage[s], at, at});
    stages.back().last = at;
  }
  return stages;
}

Layouts::Layouts(const Input& in) : in_(in) {
  std::vector<int> own(in.model->layers().size());
  std::iota(own.begin(), own.end(), 0);
  fixed_ = fixed_memory(in.memory, own, own.size());
}

Layout Layouts::of(const Placement& p, const ScheduleFile* file) const {
  Layout l;
  l.stages = stages_of(p);
  l.stage_of_layer = p.stage_of_layer;
  l.recompute = p.recompute;
  l.times = times(l);
  l.train = programs(l, file);
  l.edges = find_edges(*in_.model, *in_.memory.shapes, l.stages, l.stage_of_layer, !forward_only());
  for (Edge& e : l.edges)
    if (e.capacity > 0) e.seconds = in_.links->between(l.stages[e.from].device, l.stages[e.to].device).seconds(e.bytes);
  choose_capacities(l, file);
  l.handed_on = find_handed_on(l.stages, l.edges);
  for (const Stage& s : l.stages) l.stage_memory.push_back(stage_memory(in_.memory, s, l.stage_of_layer, l.recompute));
  l.memory = plan_memory(in_.memory, l, *in_.devices);
  l.prediction = predict(run_programs(l.train, l.stages, l.edges, l.times), l.memory);
  find_misfit(l);
  return l;
}

Layout Layouts::fitted(const Placement& placement, const std::vector<bool>& free, const ScheduleFile* file) const {
  Layout plain = of(placement, file);
  if (plain.misfit_layer < 0) return plain;
  std::vector<double> seconds(free.size(), 0);
  for (std::size_t l = 0; l < free.size(); ++l) {
    const int layer = static_cast<int>(l), device = plain.device_of_layer(layer);
    seconds[l] = layer_times(layer, device, true).input - layer_times(layer, device, false).input;
  }
  Placement with = placement;
  for (int round = 0; round < 4; ++round) {
    with.recompute = fewest_recomputed({&in_.memory, in_.devices, &plain, &free, &seconds});
    Layout fitted = of(with, file);
    if (fitted.misfit_layer < 0 || fitted.train == plain.train) return fitted;
    // The schedule answers other times with another order, under which more is alive: choose again for that one.
    plain.train = std::move(fitted.train);
    plain.memory = std::move(fitted.memory);
    for (std::size_t d = 0; d < plain.memory.size(); ++d)
      plain.memory[d].activations = most_activations(plain.train[d], plain.stage_memory, plain.handed_on);
  }
  for (std::size_t l = 0; l < free.size(); ++l) with.recompute[l] = with.recompute[l] || free[l];
  return of(with, file);
}

bool Layouts::forward_only() const { return std::string(in_.schedule->api().id) == "forward"; }

std::vector<std::vector<Action>> Layouts::programs(const Layout& l, const ScheduleFile* file) const {
  if (file) return file->programs(*in_.devices, l.stages, in_.micro_batches, splits(l.stages));
  return run_schedule(in_.schedule->api(), in_.schedule->get(), l.stages, static_cast<int>(in_.devices->size()),
                      in_.micro_batches, l.times, splits(l.stages), forward_only());
}

void Layouts::choose_capacities(Layout& l, const ScheduleFile* file) const {
  try {
    switchyard::choose_capacities(l.train, l.stages, l.edges, in_.micro_batches);
  } catch (const Error& e) {
    throw file ? Error(e.code(), Place{file->name()}, e.what()) : e;
  }
}

std::vector<StageTimes> Layouts::times(const Layout& layout) const {
  std::vector<StageTimes> times;
  for (const Stage& s : layout.stages) {
    StageTimes t;
    for (int l = s.first; l <= s.last; ++l) {
      const StageTimes one = layer_times(l, s.device, layout.recompute[l]);
      t.forward += one.forward;
      t.input += one.input;
      t.weight += one.weight;
    }
    times.push_back(t);
  }
  return times;
}

StageTimes Layouts::layer_times(int layer, int device, bool recompute) const {
  StageTimes t = in_.times->of(layer, device);
  if (recompute) t.input += t.forward;
  return t;
}

std::vector<bool> Layouts::splits(const std::vector<Stage>& stages) const {
  std::vector<bool> all;
  for (const Stage& s : stages) {
    bool any = false;
    for (int l = s.first; l <= s.last; ++l) any = any || in_.model->layers()[l].splits();
    all.push_back(any);
  }
  return all;
}

Prediction Layouts::predict(const ProgramRun& run, const std::vector<DeviceMemory>& memory) const {
  Prediction p;
  for (std::size_t d = 0; d < memory.size(); ++d) {
    const double elements = static_cast<double>(memory[d].gradients) / in_.memory.gradient_bytes;
    p.update_s = std::max(p.update_s, elements * (*in_.devices)[d].update_s);
  }
  p.step_s = run.seconds * in_.passes + p.update_s;
  for (const double busy : run.busy) p.idle.push_back(run.seconds > 0 ? 1 - busy / run.seconds : 0);
  return p;
}

/// The first layer, in the order of the model, of a device that is over its budget: the one with which the sum of what
/// its layers need by themselves passes it.
void Layouts::find_misfit(Layout& layout) const {
  for (const Stage& s : layout.stages) {
    const uint64_t budget = (*in_.devices)[s.device].budget, peak = layout.memory[s.device].peak();
    if (budget == no_budget || peak <= budget) continue;
    layout.misfit_bytes = peak - budget;
    layout.misfit_layer = first_over(layout, s.device);
    return;
  }
}

int Layouts::first_over(const Layout& layout, int device) const {
  const DeviceMemory& m = layout.memory[device];
  const auto budget = static_cast<double>((*in_.devices)[device].budget);
  uint64_t weight_sum = 0;
  double activation_sum = 0, sum = 0;
  for (const Stage& s : layout.stages)
    for (int l = s.first; s.device == device && l <= s.last; ++l) activation_sum += activation_share(l);
  int last = 0;
  for (const Stage& s : layout.stages)
    for (int l = s.first; s.device == device && l <= s.last; ++l) {
      last = l;
      weight_sum += fixed_[l].fixed();
      sum += activation_share(l);
      const double share = activation_sum > 0 ? sum / activation_sum : 1;
      if (static_cast<double>(weight_sum) + share * static_cast<double>(m.edges + m.activations) > budget) return l;
    }
  return last;
}

double Layouts::activation_share(int layer) const {
  double bytes = static_cast<double>(cost(layer).bytes_saved + cost(layer).bytes_workspace);
  for (const Port& p : in_.memory.shapes->out[layer]) bytes += static_cast<double>(byte_count(p));
  return bytes;
}

}  // namespace switchyard
