// The goal of time_balanced: the shortest step among what fits.
#pragma once

#include "../splits/goal.hpp"
#include "../splits/pins.hpp"
#include "time_model.hpp"

namespace sy::place {

class time_goal : public goal {
 public:
  /// `memory`: without free layers recomputed; `least`: with all of them. All is lent.
  time_goal(const sy_place& in, const time_model& time, const memory_model& memory, const memory_model& least)
      : in_(in), time_(time), memory_(memory), least_(least), pins_(in) {}

  /// What fits goes first, then the shorter step, then fewer stages, then the smaller share of a budget, then the
  /// smaller split.
  bool is_better(const verdict& a, const verdict& b) const override;
  /// Seconds of one micro-batch, with as much recomputing as the budget asks for. Over the budget even so: more than
  /// any number of seconds, growing with the bytes.
  double load(int32_t first, int32_t end, int32_t device, double in_flight) const override;
  /// Seconds of one pass under 1F1B, or under GPipe where the last stage has most micro-batches in flight; more than
  /// any number of seconds where a budget does not suffice.
  double estimate(const split& what, const in_flight& flight) const override;
  bool is_ruled_out(const split& what, const verdict& verdict) const override;
  std::size_t bottleneck(const verdict& v) const override;

  /// The step of a split of a single stage, nothing free recomputed, tells how the core's step relates to the model's
  /// seconds: how many passes make a step, and that each one runs backward too. Without it no split is ruled out for
  /// its time.
  void calibrate(const split& one_stage, double step_s);

 private:
  double seconds(const split& what, std::size_t stage) const {
    return time_.seconds(what.first[stage], what.end(stage, time_.layers()), what.device[stage]);
  }

  const sy_place& in_;
  const time_model& time_;
  const memory_model &memory_, &least_;
  pins pins_;
  double passes_ = 0;
};

}  // namespace sy::place
