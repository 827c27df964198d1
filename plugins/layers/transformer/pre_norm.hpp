// The norm that a residual branch begins with, forward and backward by our own kernels.
#pragma once

#include "blocks/norm.hpp"
#include "kernels/norm_pass.hpp"

namespace sy {

/// What a forward makes; the statistics (of rows, or of channels) are for the backward. No norm: h is x.
struct normed {
  at::Tensor h;
  kernels::norm_statistics statistics;
};

class pre_norm {
 public:
  pre_norm(norm_kind kind, double eps, const std::string& prefix) : kind_(kind), prefix_(prefix), eps_(eps) {
    batch_.eps = eps;
  }

  /// Whether the backward reads x.
  bool keeps_input() const { return kind_ != norm_kind::none; }

  /// x [rows, width]. residual, when defined: the norm is of x + residual, which goes into `sum`.
  normed forward(const sy_call& call, const bound_params& params, const at::Tensor& x, const at::Tensor& residual = {},
                 at::Tensor* sum = nullptr) const;
  /// The gradient of x in the place of dh; with `add`, when defined, added. Adds the weights' gradients, and the column
  /// sums of the result to `columns`. n's statistics are released.
  at::Tensor backward(const sy_call& call, const bound_params& params, at::Tensor dh, const at::Tensor& x, normed& n,
                      const at::Tensor& add = {}, const at::Tensor& columns = {}) const;

  /// Running statistics, see layer.h.
  void finish(const sy_call& call, const bound_params& params) const;

  /// What the forward takes, h and statistics among it, and releases; see tally.
  void walk_forward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const;
  /// Bytes of h and the statistics; nothing without a norm.
  uint64_t saves(uint64_t rows, int64_t width, sy_dtype t) const;
  /// What the backward takes besides its result, and the statistics that it releases.
  void walk_backward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const;

 private:
  bool by_rows() const { return kind_ == norm_kind::layer || kind_ == norm_kind::rms; }
  kernels::norm_rule rule() const {
    return kind_ == norm_kind::rms ? kernels::norm_rule::rms : kernels::norm_rule::layer;
  }
  norm_kind kind_;
  batch_norm batch_;
  std::string prefix_;
  double eps_;
};

}  // namespace sy
