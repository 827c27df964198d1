// Where one device decides on a step (switchyard/decide.h). Every device has the numbers of all, and comes to the same.
//
//   norms of each device's spans ──copies──▶ squares ──┐
//   losses of the loss layer's device ──copy─▶ losses ─┴─▶ decide ──▶ control ──▶ optimizer
//                                                              └────▶ outcome ──▶ the host, when it comes to it
#pragma once

#include <vector>

#include "engine/device.hpp"
#include "switchyard/decide.h"

namespace switchyard {

/// What is the same on every device.
struct DecisionTerms {
  uint32_t flags = 0;  // SY_DECIDE_*
  int losses = 0;      // that must be finite
  double lr = 0, loss_scale = 1, clip_norm = 0;
};

class Decision {
 public:
  /// `order`: which squares are added first; as many as there are. Waits. [stage]
  Decision(const Device& device, const std::vector<int32_t>& order);

  /// Memory of the device, lent: squares from number `first` on.
  OwnedView squares(int first, int count) const;
  /// Pairs of loss and correct answers, one for each micro-batch. Memory only grows, for which `room` is called on the
  /// device's thread.
  void make_room_for_losses(int count);
  OwnedView losses(int first, int count) const;
  /// The outcome's bytes.
  OwnedView outcome() const;
  const sy_opt_control* control() const;

  /// Enqueues it. [stage]
  void decide(const DecisionTerms& terms) const;
  /// Steps that were applied so far; steps are not held any more. Waits. [ctl]
  void set_applied(int64_t applied) const;

 private:
  OwnedView bytes(const Block& block, std::size_t count) const;

  const Device& device_;
  const std::size_t count_;
  Block squares_, order_, losses_, outcome_, control_;
};

}  // namespace switchyard
