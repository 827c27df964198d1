// What each layer takes on each device.
#pragma once

#include <cstdint>
#include <vector>

#include "model/model.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// Seconds of one (largest) micro-batch on a device: measured where every layer was; else what its operations take at
/// the device's speed, and at least what its activations take to be read and written once at the speed of the device's
/// memory, where that is described.
class LayerTimes {
 public:
  LayerTimes() = default;
  /// `devices` are lent.
  LayerTimes(const Model& model, const Shapes& shapes, const std::vector<sy_cost>& costs,
             const std::vector<PlanDevice>& devices);

  /// Takes the measured times of one kind of device, an entry for each layer; `kinds`: of each device, those below 0
  /// are not measured.
  void set_measured(std::vector<int> kinds, std::vector<std::vector<StageTimes>> times);

  /// Without recomputing.
  StageTimes of(int layer, int device) const;

 private:
  struct Work {
    double flops = 0, bytes = 0;
  };
  struct LayerWork {
    Work forward, input, weight;
    bool kept = false;  // in fp32
  };

  std::vector<LayerWork> layers_;
  const std::vector<PlanDevice>* devices_ = nullptr;
  std::vector<int> kinds_;                         // empty: nothing is measured
  std::vector<std::vector<StageTimes>> measured_;  // by kind, layer
};

}  // namespace switchyard
