// Schedules as text, one line for each device; README.md has the format.
#pragma once

#include <string>
#include <vector>

#include "config/config.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// What a file says, with the place of every action.
class ScheduleFile {
 public:
  /// Throws Error(SY_E_CONFIG): the file cannot be read, or holds what is no action, with every such mistake placed.
  static ScheduleFile read(const Placed& path);
  /// The same for text that is there already; `name` stands in errors.
  static ScheduleFile parse(const std::string& text, const std::string& name);

  /// The program of each device for this placement, checked by find_fault. Throws Error(SY_E_CONFIG) naming file, line,
  /// column, device and position for a device that is not there or has no line, and for an action that is wrong or
  /// missing.
  std::vector<std::vector<Action>> programs(const std::vector<PlanDevice>& devices, const std::vector<Stage>& stages,
                                            int micro_batches, const std::vector<bool>& splits) const;
  const std::string& name() const { return name_; }

 private:
  struct Line {
    std::string device;
    Place place;
    std::vector<Action> actions;
    std::vector<int> columns;  // where each action begins, and where the line ends
  };
  Place place_of(const Line& line, std::size_t position) const;

  std::string name_;
  std::vector<Line> lines_;
};

/// A plan's schedule in this form.
std::string schedule_text(const Plan& plan, const Model& model);

}  // namespace switchyard
