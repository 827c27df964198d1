// A placement carried through to programs, memory and time.
#pragma once

#include "place/place.hpp"
#include "plan/layer_times.hpp"
#include "plan/memory.hpp"
#include "plan/plan.hpp"
#include "plan/program.hpp"
#include "plugin/chosen.hpp"
#include "schedule/schedule_file.hpp"

namespace switchyard {

/// Lays out one model on one set of devices under one schedule, for any placement. What it was given must outlive it.
class Layouts {
 public:
  struct Input {
    const Model* model = nullptr;
    const std::vector<PlanDevice>* devices = nullptr;
    const Links* links = nullptr;
    const LayerTimes* times = nullptr;
    const ChosenSchedule* schedule = nullptr;
    MemoryInput memory;
    int micro_batches = 1;
    int passes = 1;  // of one optimizer step
  };
  explicit Layouts(const Input& in);

  /// Throws Error(SY_E_CONFIG) for a schedule's wrong answer. Over a budget: misfit_layer is set. `file`: holds the
  /// schedule, for this placement alone.
  Layout of(const Placement& placement, const ScheduleFile* file = nullptr) const;
  /// The same with as few of the `free` layers recomputed, on top of the placement's, as the budgets ask for.
  Layout fitted(const Placement& placement, const std::vector<bool>& free, const ScheduleFile* file = nullptr) const;
  /// Seconds of one micro-batch in one layer.
  StageTimes layer_times(int layer, int device, bool recompute) const;
  /// Weights, gradients and states of each layer, as if it had a device to itself.
  const std::vector<DeviceMemory>& fixed() const { return fixed_; }

 private:
  std::vector<std::vector<Action>> programs(const Layout& layout, const ScheduleFile* file) const;
  void choose_capacities(Layout& layout, const ScheduleFile* file) const;
  bool forward_only() const;
  std::vector<StageTimes> times(const Layout& layout) const;
  std::vector<bool> splits(const std::vector<Stage>& stages) const;
  Prediction predict(const ProgramRun& run, const std::vector<DeviceMemory>& memory) const;
  void find_misfit(Layout& layout) const;
  int first_over(const Layout& layout, int device) const;
  double activation_share(int layer) const;
  const sy_cost& cost(int layer) const { return (*in_.memory.costs)[layer]; }

  Input in_;
  std::vector<DeviceMemory> fixed_;
};

/// Neighbouring layers of one stage.
std::vector<Stage> stages_of(const Placement& placement);

}  // namespace switchyard
