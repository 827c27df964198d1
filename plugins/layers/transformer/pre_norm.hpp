// The norm that a residual branch begins with, forward and backward by our own kernels.
#pragma once

#include "blocks/norm.hpp"
#include "kernels/row_norm.hpp"

namespace sy {

/// A bound parameter's gradient, for kernels that add to it.
kernels::sum gradient_of(const bound_params& params, std::string_view prefix, std::string_view name);
kernels::sum gradient_of(const at::Tensor& grad);
inline const void* data_of(const at::Tensor& t) { return t.defined() ? t.const_data_ptr() : nullptr; }

/// What a forward makes; mean and rstd are for the backward. No norm: h is x.
struct normed {
  at::Tensor h, mean, rstd;
};

class pre_norm {
 public:
  pre_norm(norm_kind kind, double eps, bool bias, const std::string& prefix)
      : declared_(kind, eps, bias, prefix), prefix_(prefix), eps_(eps), bias_(bias) {}

  const norm& declared() const { return declared_; }
  /// Whether the backward reads x.
  bool keeps_input() const { return declared_.kind() != norm_kind::none; }

  /// x [rows, width]. residual, when defined: the norm is of x + residual, which goes into `sum`.
  normed forward(const sy_call& call, const bound_params& params, const at::Tensor& x, const at::Tensor& residual = {},
                 at::Tensor* sum = nullptr) const;
  /// The gradient of x in the place of dh; with `add`, when defined, added. Adds the weights' gradients, and the column
  /// sums of the result to `columns`. n's statistics are released.
  at::Tensor backward(const sy_call& call, const bound_params& params, at::Tensor dh, const at::Tensor& x, normed& n,
                      const at::Tensor& add = {}, kernels::sum columns = {}) const;

  /// Bytes of h, `stream`, and the statistics; nothing without a norm.
  uint64_t saves(uint64_t stream, uint64_t rows, sy_dtype t) const;
  /// The backward's scratch memory, and the statistics that it releases.
  void walk_backward(tally& bytes, uint64_t rows, int64_t width, sy_dtype t) const;

 private:
  kernels::norm_size size(int64_t rows, int64_t width, sy_dtype t) const {
    return {rows, width, t, declared_.kind() == norm_kind::rms ? kernels::norm_rule::rms : kernels::norm_rule::layer,
            eps_};
  }
  norm declared_;
  std::string prefix_;
  double eps_;
  bool bias_;
};

/// Bytes of a column sum's scratch memory.
uint64_t column_scratch(uint64_t rows, int64_t columns, sy_dtype t);
/// Scratch memory of a kernel.
at::Tensor scratch_of(uint64_t bytes, const at::Tensor& like);
/// columns += column sums of x [rows, width].
void add_column_sum(const sy_call& call, const at::Tensor& x, const at::Tensor& columns);

}  // namespace sy
