// Batch normalisation as a layer: of [rows, channels, ...] (axis = 1) or [..., channels] (axis = -1), any number of
// dimensions.
#pragma once

#include "blocks/batch_norm.hpp"
#include "blocks/cost.hpp"
#include "blocks/wide.hpp"

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
  batchnorm_base(const config& c, bool fp32);

  std::vector<port> infer(uint32_t kind, ports in);
  std::vector<param> params() const {
    std::vector<param> all;
    norm_.declare(all, "", channels_);
    return all;
  }
  sy::cost cost(uint32_t kind, const_ports in) const;
  at::Tensor forward(pass& p) const { return norm_.apply(p, "", p.in(0)); }
  void finish(pass& p) const { norm_.finish(p, ""); }

 private:
  batch_norm norm_;
  int64_t channels_ = 0;
};

struct batchnorm_autograd : batchnorm_base {
  static constexpr const char* id = "batchnorm_autograd";
  static constexpr const char* help =
      "batch normalisation per channel, right under micro-batches and recompute; computes in fp32, statistics are kept "
      "in fp32";
  explicit batchnorm_autograd(const config& c) : batchnorm_base(c, false) {}
};

struct batchnorm_fp32_autograd : batchnorm_base {
  static constexpr const char* id = "batchnorm_fp32_autograd";
  static constexpr const char* help =
      "batchnorm whose scale, shift and statistics are fp32 whatever comes in; gives back the type that came in";
  explicit batchnorm_fp32_autograd(const config& c) : batchnorm_base(c, true) {}
};

}  // namespace sy
