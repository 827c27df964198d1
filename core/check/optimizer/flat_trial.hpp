// An optimizer and one span of flat storage, whose values and gradients are made up.
#pragma once

#include <vector>

#include "check/host_array.hpp"
#include "plugin/chosen.hpp"

namespace switchyard::checks {

/// A run of elements of the span and the factors of its update.
struct TrialSegment {
  uint64_t offset = 0, count = 0;
  double decay = 0, lr_scale = 1;
};
std::vector<TrialSegment> usual_segments();

struct FlatOptions {
  std::vector<TrialSegment> segments = usual_segments();
  sy_dtype gradients{SY_FLOAT, 32, 1};
  sy_dtype copy{SY_FLOAT, 32, 1};  // fp32: there is none
  double gradient_factor = 1;      // what the made-up gradients are multiplied by
};

class FlatTrial {
 public:
  /// `optimizer` is lent.
  FlatTrial(const ChosenOptimizer& optimizer, const FlatOptions& options = {});
  FlatTrial(const FlatTrial&) = delete;

  /// Draws the gradients of step number `step` and makes it.
  void step(int64_t step, sy_opt_control control);
  void step(int64_t number);
  std::vector<double> norms(int64_t step);
  /// Values and states, named.
  std::vector<Named> numbers() const;
  Numbers values_of(std::size_t segment) const;
  /// Values and states of another one that has the same.
  void take_numbers(const FlatTrial& from);
  /// Elements between the segments are zero, bytes around the span untouched.
  bool padding_holds() const;
  /// The weights in the compute type as the step wrote them, and as they should be.
  Named copy() const;
  Named rounded_weights() const;
  const std::vector<std::string>& state_names() const { return state_names_; }

 private:
  void draw_gradients(int64_t step);
  Named in_segments(const std::string& name, const HostArray& array) const;
  bool in_segment(std::size_t element) const;
  const ChosenOptimizer& optimizer_;
  FlatOptions options_;
  HostArray value_, gradient_, copy_;
  std::vector<HostArray> states_;
  std::vector<std::string> state_names_;
  std::vector<sy_opt_segment> segments_;
  std::vector<const sy_opt_segment*> segment_list_;
  std::vector<float*> state_list_;
  sy_opt_span span_{};
};

/// lr 1e-2, no scale, no clipping.
sy_opt_control plain_control(int64_t step);

}  // namespace switchyard::checks
