#include "blocks/batch_norm.hpp"

#include <ATen/ops/native_batch_norm.h>
#include <ATen/ops/native_batch_norm_backward.h>
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

namespace {

at::Tensor cast(const at::Tensor& t, const at::Tensor& as) { return t.defined() ? t.to(as.scalar_type()) : t; }

}  // namespace

at::Tensor batch_norm::apply(pass& p, std::string_view prefix, const at::Tensor& x) const {
  statistics unused;
  return forward(p, prefix, x, unused);
}

/// In the type of the statistics, channels second.
at::Tensor batch_norm::as_wide(const at::Tensor& x) const {
  at::Tensor wide = widened(x);
  return axis == -1 && x.dim() != 2 ? wide.reshape({-1, x.size(-1)}) : wide;
}

at::Tensor batch_norm::forward(pass& p, std::string_view prefix, const at::Tensor& x, statistics& kept) const {
  at::Tensor wide = as_wide(x);
  const int64_t channels = wide.size(1), count = wide.numel() / channels;
  const at::Tensor weight = cast(p(prefix, "weight"), wide), bias = cast(p(prefix, "bias"), wide);
  at::Tensor y;
  if (p.training() && !frozen) {
    if (count < 2) throw fault(SY_E_DATA, one_value_per_channel);
    std::tie(y, kept.mean, kept.invstd) =
        at::native_batch_norm(wide, weight, bias, {}, {}, /*training=*/true, 0.0, eps);
    if (p.first_run()) gather(p, prefix, kept.mean.detach(), kept.invstd.detach(), count);
  } else {
    y = std::get<0>(at::native_batch_norm(wide, weight, bias, cast(p(prefix, "running_mean"), wide),
                                          cast(p(prefix, "running_var"), wide), /*training=*/false, 0.0, eps));
  }
  wide.reset();
  return y.reshape(x.sizes()).to(x.scalar_type());
}

at::Tensor batch_norm::backward(const bound_params& params, std::string_view prefix, const at::Tensor& dy,
                                const at::Tensor& x, const statistics& kept, bool wanted) const {
  at::Tensor weight_grad = params.grad(prefix, "weight"), bias_grad = params.grad(prefix, "bias");
  at::Tensor wide = as_wide(x), wide_dy = as_wide(dy), running_mean, running_var;
  const bool by_batch = kept.mean.defined();
  if (!by_batch) {
    running_mean = cast(params.find(prefix, "running_mean"), wide);
    running_var = cast(params.find(prefix, "running_var"), wide);
  }
  auto [dx, dw, db] = at::native_batch_norm_backward(wide_dy, wide, cast(params.find(prefix, "weight"), wide),
                                                     running_mean, running_var, kept.mean, kept.invstd, by_batch, eps,
                                                     {wanted, weight_grad.defined(), bias_grad.defined()});
  wide.reset(), wide_dy.reset();
  if (weight_grad.defined()) weight_grad.add_(dw);
  if (bias_grad.defined()) bias_grad.add_(db);
  return wanted ? dx.reshape(x.sizes()).to(x.scalar_type()) : at::Tensor();
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
