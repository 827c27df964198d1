#include "engine/step_marks.hpp"

namespace switchyard {

void StepMarks::start_step() {
  used_ = 0;
  passes_.clear();
}

void StepMarks::start_pass(const Device& device) {
  passes_.push_back(used_);
  mark(device);
}

void StepMarks::mark(const Device& device) {
  if (used_ == events_.size())
    events_.push_back(device.mark_time());
  else
    device.mark_time_again(events_[used_]);
  ++used_;
}

StepMarks::Times StepMarks::read() const {
  Times t;
  for (std::size_t p = 0; p < passes_.size(); ++p) {
    const std::size_t first = passes_[p], end = p + 1 < passes_.size() ? passes_[p + 1] : used_;
    for (std::size_t begin = first + 1; begin + 1 < end; begin += 2)
      t.busy += events_[begin].seconds_until(events_[begin + 1]);
    if (end > first + 1) t.passes += events_[first].seconds_until(events_[end - 1]);
  }
  return t;
}

}  // namespace switchyard
