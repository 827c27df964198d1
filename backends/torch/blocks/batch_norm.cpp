#include "blocks/batch_norm.hpp"

#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/pow.h>

#include "blocks/wide.hpp"

namespace sy {

void batch_norm::declare(std::vector<param>& to, const std::string& prefix, int64_t channels) const {
  const uint32_t weights = fp32_weights ? SY_CLASS_FP32 : SY_CLASS_COMPUTE;
  const auto add = [&](const char* name, std::vector<int64_t> shape, const char* init, uint32_t kind, uint32_t type,
                       uint32_t flags = 0) {
    to.push_back({prefix + name, std::move(shape), init, kind, type, flags, {}, f32});
  };
  if (affine) add("weight", {channels}, "ones", SY_WEIGHT, weights, SY_PARAM_NO_DECAY);
  if (affine) add("bias", {channels}, "zeros", SY_WEIGHT, weights, SY_PARAM_NO_DECAY);
  add("running_mean", {channels}, "zeros", SY_BUFFER, SY_CLASS_FP32);
  add("running_var", {channels}, "ones", SY_BUFFER, SY_CLASS_FP32);
  to.push_back({prefix + "num_batches_tracked", {}, "zeros", SY_BUFFER, SY_CLASS_GIVEN, 0, {}, i64});
  if (frozen) return;
  add("seen.count", {1}, "zeros", SY_ACCUMULATOR, SY_CLASS_FP32);
  add("seen.mean", {channels}, "zeros", SY_ACCUMULATOR, SY_CLASS_FP32);
  add(deferred ? "seen.m2" : "seen.var", {channels}, "zeros", SY_ACCUMULATOR, SY_CLASS_FP32);
}

at::Tensor batch_norm::apply(pass& p, std::string_view prefix, const at::Tensor& x) const {
  at::Tensor wide = widened(x);
  if (axis == -1 && x.dim() != 2) wide = wide.reshape({-1, x.size(-1)});
  const int64_t channels = wide.size(1), count = wide.numel() / channels;
  const at::Tensor weight = widened(p(prefix, "weight")), bias = widened(p(prefix, "bias"));
  at::Tensor y;
  if (p.training() && !frozen) {
    if (count < 2)
      throw fault(SY_E_DATA, one_value_per_channel);
    at::Tensor mean, invstd;
    std::tie(y, mean, invstd) = at::native_batch_norm(wide, weight, bias, {}, {}, /*training=*/true, 0.0, eps);
    if (p.first_run()) gather(p, prefix, mean.detach(), invstd.detach(), count);
  } else {
    const at::ScalarType type = wide.scalar_type();
    y = std::get<0>(at::native_batch_norm(wide, weight, bias, p(prefix, "running_mean").to(type),
                                          p(prefix, "running_var").to(type), /*training=*/false, 0.0, eps));
  }
  return y.reshape(x.sizes()).to(x.scalar_type());
}

void batch_norm::gather(pass& p, std::string_view prefix, const at::Tensor& mean, const at::Tensor& invstd,
                        int64_t count) const {
  const double n = static_cast<double>(count);
  const at::Tensor batch_mean = mean.to(at::kFloat);
  const at::Tensor batch_var = invstd.to(at::kDouble).pow(-2).sub_(eps).clamp_min_(0).to(at::kFloat);  // biased
  at::Tensor seen = p(prefix, "seen.count"), seen_mean = p(prefix, "seen.mean");
  if (!deferred) {
    seen.add_(1);
    seen_mean.mul_(1 - momentum).add_(batch_mean, momentum);
    p(prefix, "seen.var").mul_(1 - momentum).add_(batch_var, momentum * n / (n - 1));
    return;
  }
  const at::Tensor delta = batch_mean.sub(seen_mean), total = seen.add(n);
  p(prefix, "seen.m2").add_(batch_var, n).add_(delta.square().mul_(seen.mul(n).div_(total)));
  seen_mean.add_(delta.mul(total.reciprocal().mul_(n)));
  seen.add_(n);
}

void batch_norm::finish(pass& p, std::string_view prefix) const {
  if (frozen) return;
  at::Tensor running_mean = p(prefix, "running_mean"), running_var = p(prefix, "running_var");
  at::Tensor batches = p(prefix, "num_batches_tracked");
  const at::Tensor &seen = p(prefix, "seen.count"), &seen_mean = p(prefix, "seen.mean");
  if (deferred) {
    const at::Tensor variance = p(prefix, "seen.m2").div(seen.sub(1));
    running_mean.mul_(1 - momentum).add_(seen_mean, momentum);
    running_var.mul_(1 - momentum).add_(variance, momentum);
    batches.add_(1);
    return;
  }
  const at::Tensor decay = at::pow(1 - momentum, seen);
  running_mean.mul_(decay).add_(seen_mean);
  running_var.mul_(decay).add_(p(prefix, "seen.var"));
  batches.add_(seen.to(at::kLong).reshape(batches.sizes()));
}

}  // namespace sy
