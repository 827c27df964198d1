#include "plan/layer_times.hpp"

#include <algorithm>

namespace switchyard {

LayerTimes::LayerTimes(const Model& model, const Shapes& shapes, const std::vector<sy_cost>& costs,
                       const std::vector<PlanDevice>& devices)
    : devices_(&devices) {
  for (const Layer& layer : model.layers()) {
    const sy_cost& cost = costs[layer.index];
    double ports = 0;
    for (const auto* side : {&shapes.in[layer.index], &shapes.out[layer.index]})
      for (const Port& port : *side) ports += static_cast<double>(byte_count(port));
    const double saved = static_cast<double>(cost.bytes_saved);
    LayerWork work;
    work.kept = layer.kept;
    work.forward = {cost.flops_forward, ports + saved};
    work.input = {cost.flops_input, ports + saved};
    if (cost.flops_weight > 0) work.weight = {cost.flops_weight, ports};
    layers_.push_back(work);
  }
}

void LayerTimes::set_measured(std::vector<int> kinds, std::vector<std::vector<StageTimes>> times) {
  kinds_ = std::move(kinds);
  measured_ = std::move(times);
}

StageTimes LayerTimes::of(int layer, int device) const {
  if (!kinds_.empty() && kinds_[device] >= 0) return measured_[kinds_[device]][layer];
  const LayerWork& work = layers_[layer];
  const PlanDevice& on = (*devices_)[device];
  const double known = work.kept ? on.flops_fp32 : on.flops, flops = known > 0 ? known : assumed_flops;
  const auto seconds = [&](const Work& w) {
    return std::max(w.flops / flops, on.bytes_per_s > 0 ? w.bytes / on.bytes_per_s : 0);
  };
  return {seconds(work.forward), seconds(work.input), seconds(work.weight)};
}

}  // namespace switchyard
