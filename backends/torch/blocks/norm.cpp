#include "blocks/norm.hpp"

#include <ATen/ops/layer_norm.h>

#include "blocks/rms_norm.hpp"
#include "blocks/wide.hpp"

namespace sy {

norm_kind norm_of(const std::string& name) {
  for (uint8_t i = 0; norm_names[i]; ++i)
    if (name == norm_names[i]) return static_cast<norm_kind>(i);
  throw fault(SY_E_CONFIG, "there is no norm '" + name + "'");
}

at::Tensor layer_norm(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double eps) {
  // On the CPU LibTorch keeps mean and 1/std in the weight's type; on CUDA always in fp32, and the types must be equal
  // there.
  if (!x.is_cuda()) return at::layer_norm(x, {x.size(-1)}, widened(weight), widened(bias), eps);
  return at::layer_norm(x, {x.size(-1)}, weight, bias, eps);
}

void norm::declare(std::vector<param>& to, int64_t width) const {
  switch (kind_) {
    case norm_kind::layer:
    case norm_kind::rms:
      to.push_back({.name = prefix_ + "weight", .shape = {width}, .init = "ones", .flags = SY_PARAM_NO_DECAY});
      if (bias_ && kind_ == norm_kind::layer)
        to.push_back({.name = prefix_ + "bias", .shape = {width}, .init = "zeros", .flags = SY_PARAM_NO_DECAY});
      return;
    case norm_kind::batch:
      batch_.declare(to, prefix_, width);
      return;
    case norm_kind::none:
      return;
  }
}

at::Tensor norm::apply(pass& p, const at::Tensor& x) const {
  switch (kind_) {
    case norm_kind::layer:
      return layer_norm(x, p(prefix_, "weight"), p(prefix_, "bias"), eps_);
    case norm_kind::rms:
      return rms_norm(x, p(prefix_, "weight"), eps_);
    case norm_kind::batch:
      return batch_.apply(p, prefix_, x);
    case norm_kind::none:
      return x;
  }
  throw fault(SY_E_INTERNAL, "a norm without an operator");
}

bool norm::keeps_input(sy_dtype t) const {
  return kind_ != norm_kind::none && !(kind_ == norm_kind::batch && is_reduced(t));
}

uint64_t norm::saved_bytes(uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t w = static_cast<uint64_t>(width), stat = wide_width(t);
  const uint64_t copies = is_reduced(t) ? w * 4 : 0;  // the weight (and bias) in fp32
  switch (kind_) {
    case norm_kind::layer:
      return 2 * rows * stat + (bias_ ? 2 : 1) * copies;
    case norm_kind::rms:
      return rows * stat;
    case norm_kind::batch:
      return 2 * w * stat + copies + (is_reduced(t) ? rows * w * 4 : 0);
    case norm_kind::none:
      return 0;
  }
  return 0;
}

uint64_t norm::forward_scratch(uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t wide = rows * static_cast<uint64_t>(width) * wide_width(t);
  if (kind_ == norm_kind::rms) return is_reduced(t) ? 2 * wide : 0;
  return kind_ == norm_kind::batch && is_reduced(t) ? wide : 0;
}

uint64_t norm::backward_scratch(uint64_t rows, int64_t width, sy_dtype t) const {
  const uint64_t wide = rows * static_cast<uint64_t>(width) * wide_width(t);
  if (kind_ == norm_kind::layer) return 4 * static_cast<uint64_t>(width) * wide_width(t);  // weight gradients, twice
  if (kind_ == norm_kind::rms) return is_reduced(t) ? 4 * wide - wide / 2 : 2 * wide;
  return kind_ == norm_kind::batch && is_reduced(t) ? 2 * wide : 0;
}

void norm::add_flops(cost& c, uint64_t rows, int64_t width) const {
  if (is_none()) return;
  const double n = static_cast<double>(rows) * static_cast<double>(width);
  const double per_element = kind_ == norm_kind::rms ? 5 : 8;
  add_elementwise_flops(c, per_element * n, 1.5 * per_element * n);
}

}  // namespace sy
