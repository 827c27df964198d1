#include "batchnorm.hpp"

namespace sy {

batchnorm_base::batchnorm_base(const config& c, bool fp32) {
  norm_.axis = c.i64("axis");
  norm_.momentum = c.f64("momentum");
  norm_.eps = c.f64("eps");
  norm_.affine = c.flag("affine");
  norm_.frozen = c.flag("frozen");
  norm_.deferred = c.str("statistics") == "deferred";
  norm_.fp32_weights = fp32;
  if (norm_.axis == 0) throw fault(SY_E_CONFIG, "axis = 0 are the samples; channels are axis 1 or -1");
}

std::vector<port> batchnorm_base::infer(uint32_t kind, ports in) {
  const sy_port& x = *in[0];
  if (x.ndim < 2)
    throw fault(SY_E_CONFIG, "batchnorm needs an input of shape [rows, channels, ...] or [rows, ..., channels]");
  channels_ = norm_.axis == 1 ? x.shape[1] : last_dim(x);
  if (kind == SY_TRAIN && !norm_.frozen && elements_of(x) < 2 * static_cast<uint64_t>(channels_))
    throw fault(SY_E_CONFIG, one_value_per_channel);
  return {like(x)};
}

sy::cost batchnorm_base::cost(uint32_t kind, const_ports in) const {
  const sy_port& x = *in[0];
  const uint64_t n = elements_of(x), wide = wide_width(x.dtype), channels = static_cast<uint64_t>(channels_);
  const bool casts = is_reduced(x.dtype);
  sy::cost c;
  add_elementwise_flops(c, 8 * static_cast<double>(n), 12 * static_cast<double>(n));
  const uint64_t statistics = 5 * channels * wide;
  c.bytes_workspace = statistics + (casts ? n * wide * (kind == SY_TRAIN ? 1 : 2) : 0);
  if (kind != SY_TRAIN) return c;
  if (!casts) c.keep_in = 1;
  const uint64_t weights = casts && norm_.affine && !norm_.fp32_weights ? channels * wide : 0;
  c.bytes_saved = 2 * channels * wide + weights + (casts ? n * wide : 0);
  // LibTorch's backward on the CPU holds one more tensor of the input's size
  c.bytes_workspace_backward = 2 * channels * wide + n * wide + (casts ? 2 * n * wide - n * width_of(x.dtype) : 0);
  return c;
}

}  // namespace sy
