// Makes one plan of one configuration: policy, recompute, layout.
#pragma once

#include <optional>
#include <vector>

#include "place/place.hpp"
#include "plan/lay_out.hpp"
#include "plan/layer_times.hpp"
#include "plan/plan.hpp"
#include "plugin/chosen.hpp"
#include "schedule/schedule_file.hpp"

namespace switchyard {

/// What it was given must outlive it. [ctl]
class Planner {
 public:
  /// Throws Error(SY_E_CONFIG) for what the configuration names and nobody offers.
  Planner(const Config& config, Registry& registry, Model& model, PlanMachine machine);
  Planner(const Planner&) = delete;
  Planner& operator=(const Planner&) = delete;

  /// Asks the policy; with recompute = "auto", recomputes as few seconds as fit. Over a budget: misfit_layer of the
  /// result is set. Throws SY_E_INFEASIBLE where the policy itself says that nothing fits.
  Plan draft();
  /// The same with everything on the first device.
  Plan whole_draft();
  /// Under the same schedule, with everything on the first device.
  Layout on_one_device() const;
  /// The same stages without the layers that recompute = "auto" chose.
  Layout without_chosen(const Plan& plan) const;

 private:
  void set_updates();
  MemoryInput memory_input() const;
  std::vector<bool> configured_recompute() const;
  std::vector<bool> free_to_recompute() const;
  std::vector<bool> without_losses(std::vector<bool> layers) const;
  Layout lay_out(const Placement& placement, const ScheduleFile* file) const;
  Placement whole() const;
  Placement place();
  Plan drawn(const Placement& placement, const ScheduleFile* file) const;
  const ScheduleFile* file() const { return file_ ? &*file_ : nullptr; }
  std::vector<LayerCost> layer_costs(const Layout& layout) const;

  const Config& config_;
  Registry& registry_;
  Model& model_;
  Plan plan_;  // all but the layout
  const Shapes* shapes_ = nullptr;
  std::vector<sy_cost> costs_;
  LayerTimes times_;
  ChosenSchedule schedule_;           // of a file: that by which other placements are judged
  std::optional<ScheduleFile> file_;  // schedule.type = "file": for the placement that is run, and no other
  std::optional<Layouts> layouts_;
};

}  // namespace switchyard
