// When a device did what in a pass: the measured side of a plan's timeline (plan/timeline.hpp).
//
//   stage thread:   take ──▶ begin_action ──▶ layers ──▶ end_action ──▶ send: begin_transfer ──▶ copy ──▶ end_transfer
//
// A synchronous device (the CPU) looks at the clock; an asynchronous one marks its stream, and the marks are read when
// it is done. Waiting for a tensor, or for room on an edge, lies outside of actions and transfers.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/device.hpp"
#include "engine/step_marks.hpp"
#include "plan/timeline.hpp"

namespace switchyard {

/// Written by one device's thread while a pass runs, read by the caller afterwards.
class Recorder {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Recorder(const Device& device) : device_(device) {}

  /// A pass that began at `pass`, whose first micro-batch has this number in the step; the pass before is forgotten.
  /// `everything`: each action and transfer is remembered. Otherwise a synchronous device only sums its seconds, and an
  /// asynchronous one marks them in its stream, for marks(), where the pass is `of_step`. [stage]
  void start(bool everything, Clock::time_point pass, int first_micro_batch, bool of_step);
  void begin_action(uint32_t kind, int stage, int micro_batch);
  void end_action();
  /// `stream`: on which the device sends; NULL for a synchronous one.
  void begin_transfer(int edge, int micro_batch, const Stream* stream = nullptr);
  void end_transfer(const Stream* stream = nullptr);

  /// Seconds inside of actions, and from the start of the pass to the end of the last one; nothing where no clock was
  /// looked at. The device is done. [ctl]
  std::optional<double> busy() const;
  double last() const { return last_; }
  /// Of an asynchronous device, since its start_step().
  StepMarks& marks() { return marks_; }
  /// The pass as this device saw it, with seconds of marks read. Memory is what its account held when each action was
  /// begun and ended. The device is done. [ctl]
  void read(int device, Timeline& into);

 private:
  /// Seconds since the start of the pass, or a mark in the stream that tells them later.
  struct Moment {
    double seconds = 0;
    Event mark;
  };
  template <class What>
  struct Recorded {
    What what;
    Moment begin, end;
    int64_t bytes_before = 0, bytes_after = 0;
  };

  bool looks() const { return everything_ || !device_.is_asynchronous(); }
  Moment now(const Stream* stream = nullptr) const;
  double seconds(const Moment& moment) const;

  const Device& device_;
  bool everything_ = false;
  Clock::time_point pass_;
  int first_ = 0;
  Moment start_;  // of an asynchronous device: a mark, and when it was passed
  std::vector<Recorded<Action>> actions_;
  std::vector<Recorded<TimedTransfer>> transfers_;
  double began_ = 0, busy_ = 0, last_ = 0;
  bool marks_actions_ = false;
  StepMarks marks_;
};

}  // namespace switchyard
