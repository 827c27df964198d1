// When an asynchronous device was busy in a step, from timed marks in its stream that are read once it is done:
//
//   pass    ● start   ● begin   ● end   ● begin   ● end   ...
#pragma once

#include <cstddef>
#include <vector>

#include "engine/device.hpp"

namespace switchyard {

/// Marks of one device. Its events are made once and used again by later steps.
class StepMarks {
 public:
  /// Forgets the step before, which must have been read, or be of no interest. [stage]
  void start_step();
  void start_pass(const Device& device);
  /// Alternately the beginning and the end of an action of the present pass. [stage]
  void mark(const Device& device);

  struct Times {
    double busy = 0;    // seconds inside of actions
    double passes = 0;  // from each pass's start to the end of its last action
  };
  /// All marks are passed. [ctl]
  Times read() const;
  bool empty() const { return used_ == 0; }

 private:
  std::vector<Event> events_;
  std::size_t used_ = 0;
  std::vector<std::size_t> passes_;  // the number of each one's first mark
};

}  // namespace switchyard
