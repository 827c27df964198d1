#include "blocks/softmax_loss.hpp"

#include <ATen/ops/argmax.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/gather.h>
#include <ATen/ops/log_softmax.h>
#include <ATen/ops/ones_like.h>
#include <ATen/ops/stack.h>
#include <ATen/ops/where.h>

namespace sy {

class_targets read_targets(const at::Tensor& targets, std::optional<int64_t> ignore) {
  at::Tensor ids = targets.reshape({-1}).to(at::kLong);
  if (!ignore) return {ids, at::ones_like(ids, at::kBool)};
  at::Tensor valid = ids.ne(*ignore);
  return {ids.mul(valid), valid};
}

class_targets narrow(const class_targets& t, int64_t begin, int64_t count) {
  return {t.ids.narrow(0, begin, count), t.valid.narrow(0, begin, count)};
}

at::Tensor log_probabilities(at::Tensor logits) {
  if (logits.scalar_type() == at::kHalf || logits.scalar_type() == at::kBFloat16) logits = logits.to(at::kFloat);
  return at::log_softmax(logits, -1);
}

at::Tensor loss_sum(const at::Tensor& log_p, const class_targets& targets) {
  const at::Tensor picked = at::gather(log_p, 1, targets.ids.unsqueeze(1)).squeeze(1);
  return at::where(targets.valid, picked, 0.0).sum(at::kDouble).neg();
}

at::Tensor right_count(const at::Tensor& log_p, const class_targets& targets) {
  return at::argmax(log_p, 1).eq(targets.ids).logical_and(targets.valid).sum(at::kDouble);
}

at::Tensor logit_gradient(at::Tensor log_p, const class_targets& targets, double weight, at::ScalarType type) {
  at::Tensor g = log_p.exp_();
  const at::Tensor at_target = targets.ids.unsqueeze(1);
  g.scatter_(1, at_target, at::gather(g, 1, at_target).sub_(1.0));
  g.mul_(targets.valid.to(g.scalar_type()).mul_(weight).unsqueeze(1));
  return g.to(type);
}

at::Tensor loss_output(const at::Tensor& sum, const at::Tensor& right) {
  return at::stack({sum, right.defined() ? right : at::full_like(sum, -1.0)}).to(at::kFloat);
}

void hand_over(const sy_call& call, loss_saved&& kept) {
  if (!(call.want & 1)) return;
  if (!kept.input_gradient.defined()) throw fault(SY_E_STATE, "backward of a call that kept nothing");
  call.out[0] = lend(std::move(kept.input_gradient), call);
}

}  // namespace sy
