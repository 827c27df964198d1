// Options and parameters of batch normalisation of [rows, channels, ...] (axis = 1) or [..., channels] (axis = -1), any
// number of dimensions.
#pragma once

#include "blocks/batch_norm.hpp"
#include "blocks/cost.hpp"

namespace sy {

class batchnorm_base {
 public:
  static constexpr const char* statistics_kinds[] = {"micro", "deferred", nullptr};
  static constexpr sy_option options[] = {
      i64_option("axis", "1", -1, 1, "of the channels: 1 for [rows, channels, ...], -1 for [rows, time, channels]"),
      f64_option("momentum", "0.1", 0, 1, "share of the new statistics in the running ones"),
      f64_option("eps", "1e-5", 0, 1, "added to the variance"),
      bool_option("affine", "true", "learned scale and shift"),
      bool_option("frozen", "false", "normalise with the running statistics in training too, and leave them alone"),
      str_option("statistics", "\"micro\"", statistics_kinds,
                 "running statistics: micro, one update per micro-batch; deferred, one per step from all its samples"),
  };

  std::vector<port> infer(uint32_t kind, ports in);
  std::vector<param> params() const {
    std::vector<param> all;
    norm_.declare(all, "", channels_);
    return all;
  }

 protected:
  batchnorm_base(const config& c, bool fp32);

  batch_norm norm_;
  int64_t channels_ = 0;
};

struct batchnorm_form : batchnorm_base {
  explicit batchnorm_form(const config& c) : batchnorm_base(c, false) {}
};

/// With scale and shift in fp32 whatever comes in.
struct batchnorm_fp32_form : batchnorm_base {
  explicit batchnorm_fp32_form(const config& c) : batchnorm_base(c, true) {}
};

}  // namespace sy
