// Softmax with cross-entropy over rows of logits, in fp32 (fp64 for fp64 logits) whatever type the logits have.
//
//   p_nj = exp(x_nj) / sum_k exp(x_nk),  loss = - sum over valid n of log p_n,t(n),  dloss/dx_nj = p_nj - [j = t(n)]
#pragma once

#include <optional>

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// Targets of a micro-batch, ready for indexing.
struct class_targets {
  at::Tensor ids;    // int64 [rows]; 0 where not valid
  at::Tensor valid;  // bool [rows]
};
/// targets: any integer type, any shape; ignore: the value that does not count.
SY_EXPORT class_targets read_targets(const at::Tensor& targets, std::optional<int64_t> ignore);
/// The part from row `begin` on, `count` rows.
SY_EXPORT class_targets narrow(const class_targets& t, int64_t begin, int64_t count);

/// log p [rows, classes]. At most the given logits and the result are alive; the logits are released where the caller
/// moves them in.
SY_EXPORT at::Tensor log_probabilities(at::Tensor logits);
/// Sum of the losses over valid rows, a scalar in fp64.
SY_EXPORT at::Tensor loss_sum(const at::Tensor& log_p, const class_targets& targets);
/// Valid rows whose largest logit is the target's, a scalar in fp64.
SY_EXPORT at::Tensor right_count(const at::Tensor& log_p, const class_targets& targets);
/// weight * (p - onehot) at valid rows, 0 elsewhere, in `type`; works in place of log_p, which is consumed.
SY_EXPORT at::Tensor logit_gradient(at::Tensor log_p, const class_targets& targets, double weight, at::ScalarType type);
/// The output of loss layers: fp32 [2], sum and count of right ones (undefined: -1, no classes).
SY_EXPORT at::Tensor loss_output(const at::Tensor& sum, const at::Tensor& right);

/// What a loss layer keeps from its training forward.
struct loss_saved {
  at::Tensor input_gradient;
};
/// The backward of every loss layer.
SY_EXPORT void hand_over(const sy_call& call, loss_saved&& kept);

}  // namespace sy
