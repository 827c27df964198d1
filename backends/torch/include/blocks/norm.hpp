// The norm that a larger layer begins with: layer, rms, batch or none, over the last dimension.
#pragma once

#include "blocks/batch_norm.hpp"
#include "blocks/cost.hpp"

namespace sy {

enum class norm_kind : uint8_t { layer, rms, batch, none };
inline constexpr const char* norm_names[] = {"layer", "rms", "batch", "none", nullptr};
inline constexpr const char* row_norm_names[] = {"layer", "rms", nullptr};

/// The kind of one of norm_names.
SY_EXPORT norm_kind norm_of(const std::string& name);

/// LayerNorm (Ba, Kiros, Hinton 2016): y = (x - mean) / sqrt(var + eps) * w + b over the last dimension, statistics in
/// fp32.
SY_EXPORT at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps);

class SY_EXPORT norm {
 public:
  norm(norm_kind kind, double eps, bool bias, std::string prefix)
      : kind_(kind), eps_(eps), bias_(bias), prefix_(std::move(prefix)) {
    batch_.eps = eps;
  }
  void declare(std::vector<param>& to, int64_t width) const;
  at::Tensor apply(pass& p, const at::Tensor& x) const;
  void finish(pass& p) const {
    if (kind_ == norm_kind::batch) batch_.finish(p, prefix_);
  }

  norm_kind kind() const { return kind_; }
  bool is_none() const { return kind_ == norm_kind::none; }
  /// Whether autograd keeps the input itself: batch norm keeps an fp32 copy of a reduced one.
  bool keeps_input(sy_dtype t) const;
  /// Bytes kept besides the input.
  uint64_t saved_bytes(uint64_t rows, int64_t width, sy_dtype t) const;
  /// More bytes that are alive inside the forward and the backward (result and gradient not counted).
  uint64_t forward_scratch(uint64_t rows, int64_t width, sy_dtype t) const;
  uint64_t backward_scratch(uint64_t rows, int64_t width, sy_dtype t) const;
  void add_flops(cost& c, uint64_t rows, int64_t width) const;

 private:
  norm_kind kind_;
  double eps_;
  bool bias_;
  std::string prefix_;
  batch_norm batch_;
};

}  // namespace sy
