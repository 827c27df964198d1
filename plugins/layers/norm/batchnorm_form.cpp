#include "batchnorm_form.hpp"

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

}  // namespace sy
