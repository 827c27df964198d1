// Batch normalisation (Ioffe, Szegedy 2015) that is right under micro-batches and recompute.
//
// Training calls normalise with the statistics of their own micro-batch. What they saw goes into accumulators, and
// finish() moves these into the running statistics once per step:
//   deferred  (count, mean, M2) of the whole step, merged by Chan's formula in micro-batch order; one momentum update,
//   as one
//             batch without micro-batches would do:  running = (1 - m) running + m statistic
//   micro     the composition of one update per micro-batch, as PyTorch does:  a_k = (1 - m) a_(k-1) + m statistic_k,
//             running = (1 - m)^k running + a_k
// The variance is biased for normalising, unbiased in the running one. Frozen, EVAL and FORWARD use the running
// statistics.
#pragma once

#include "switchyard/cpp/torch.hpp"

namespace sy {

inline constexpr const char* one_value_per_channel =
    "batch normalisation needs more than one value per channel in a micro-batch; use larger micro-batches, or frozen = "
    "true";

class SY_EXPORT batch_norm {
 public:
  double momentum = 0.1, eps = 1e-5;
  bool affine = true, frozen = false, deferred = false;
  bool fp32_weights = false;  // weights of class FP32; the core's keep_fp32 has the same effect on others
  int64_t axis = -1;          // of the channels: 1 or -1

  void declare(std::vector<param>& to, const std::string& prefix, int64_t channels) const;
  /// Computes in fp32 (fp64 for fp64) and gives x's type.
  at::Tensor apply(pass& p, std::string_view prefix, const at::Tensor& x) const;
  /// The same with what a backward written by hand needs besides x: mean and 1/std of the micro-batch, [channels] in
  /// fp32 (fp64); undefined where running ones were used.
  struct statistics {
    at::Tensor mean, invstd;
  };
  at::Tensor forward(pass& p, std::string_view prefix, const at::Tensor& x, statistics& kept) const;
  /// Adds to the gradients of scale and shift. Undefined where x's gradient is not wanted.
  at::Tensor backward(const bound_params& params, std::string_view prefix, const at::Tensor& dy, const at::Tensor& x,
                      const statistics& kept, bool wanted) const;
  void finish(pass& p, std::string_view prefix) const;

 private:
  at::Tensor as_wide(const at::Tensor& x) const;
  void gather(pass& p, std::string_view prefix, const at::Tensor& mean, const at::Tensor& invstd, int64_t count) const;
};

}  // namespace sy
