// Loss scaling for fp16: one decision for all stages.
#pragma once

#include <cstdint>
#include <string>

namespace switchyard {

/// Dynamic: halves after a step with a gradient that is not finite, doubles after 2,000 good steps in a row, from
/// 65,536 (Micikevicius et al., Mixed Precision Training, 2018). Fixed: never changes. 1 for fp32 and bf16.
class LossScale {
 public:
  static LossScale fixed(double scale) { return LossScale(scale, false); }
  static LossScale dynamic() { return LossScale(65536, true); }

  double value() const { return scale_; }
  bool is_dynamic() const { return dynamic_; }
  int64_t good_steps() const { return good_; }
  /// Notes whether the step's gradients were finite.
  void update(bool finite) {
    if (!dynamic_) return;
    if (!finite) {
      scale_ = scale_ / 2 > 1e-8 ? scale_ / 2 : scale_;
      good_ = 0;
    } else if (++good_ == growth_interval) {
      scale_ = scale_ < 1e30 ? scale_ * 2 : scale_;
      good_ = 0;
    }
  }
  void restore(double scale, int64_t good) { scale_ = scale, good_ = good; }

 private:
  static constexpr int64_t growth_interval = 2000;
  LossScale(double scale, bool dynamic) : scale_(scale), dynamic_(dynamic) {}
  double scale_;
  bool dynamic_;
  int64_t good_ = 0;
};

}  // namespace switchyard
