// Softmax with cross-entropy over classes in the last dimension.
#pragma once

#include "blocks/cost.hpp"
#include "blocks/softmax_loss.hpp"

namespace sy {

struct cross_entropy_layer {
  static constexpr const char* id = "cross_entropy";
  static constexpr const char* help =
      "softmax with cross-entropy; inputs: logits [rows, classes] or [rows, time, classes], then the targets; reports "
      "accuracy";
  static constexpr uint32_t caps = SY_L_LOSS;
  using saved = loss_saved;
  explicit cross_entropy_layer(const config&) {}

  std::vector<port> infer(uint32_t kind, ports in) {
    if (in[0]->ndim < 2) throw fault(SY_E_CONFIG, "cross_entropy needs logits of shape [rows, ..., classes]");
    if (kind == SY_FORWARD) return {like(*in[0])};
    if (in.size() < 2) throw fault(SY_E_CONFIG, "cross_entropy needs targets");
    sy_port& targets = *in.back();
    int64_t wanted = 1, found = 1;
    for (int32_t d = 0; d + 1 < in[0]->ndim; ++d) wanted *= in[0]->shape[d];
    for (int32_t d = 0; d < targets.ndim; ++d) found *= targets.shape[d];
    if (wanted != found)
      throw fault(SY_E_CONFIG, "cross_entropy meets " + std::to_string(wanted) + " rows of logits and " +
                                   std::to_string(found) + " targets per micro-batch");
    if (is_float(targets.dtype))
      throw fault(SY_E_CONFIG, "cross_entropy needs class numbers as targets; for other numbers use mse");
    targets.id_limit = last_dim(*in[0]);
    if (targets.flags & SY_PORT_IGNORE) ignore_ = targets.ignore_id;
    return {{{2}, f32, false}};
  }
  sy::cost cost(uint32_t kind, const_ports in) const {
    sy::cost c;
    const double n = static_cast<double>(elements_of(*in[0]));
    if (kind == SY_FORWARD) return c;
    c.flops_forward = (kind == SY_TRAIN ? 8 : 5) * n;
    const uint64_t elem = width_of(in[0]->dtype), wide = std::max<uint64_t>(4, elem);
    const uint64_t cast = elem == wide ? 0 : wide;  // fp32 copies of bf16 logits
    if (kind == SY_TRAIN) c.bytes_saved = elements_of(*in[0]) * elem;
    // of each row: whether it counts, which class is the likeliest, whether that is right; and its target, where some
    // are ignored
    const uint64_t rows = elements_of(*in[0]) / static_cast<uint64_t>(last_dim(*in[0]));
    c.bytes_workspace = elements_of(*in[0]) * (wide + cast) - c.bytes_saved + rows * (ignore_ ? 27 : 19);
    return c;
  }
  saved forward(const sy_call& call) {
    return in_call(call, false, [&]() -> saved {
      const at::Tensor x = borrow(call.in[0]);
      if (call.kind == SY_FORWARD) {
        const bool last = (call.flags & SY_CALL_LAST_POSITION) && x.dim() == 3;
        call.out[0] = lend((last ? x.narrow(1, x.size(1) - 1, 1) : x).clone(), call);
        return {};
      }
      const class_targets targets = read_targets(borrow(call.in[call.n_in - 1]), ignore_);
      at::Tensor log_p = log_probabilities(x.reshape({-1, x.size(-1)}));
      tensor result = tensor::adopt(lend(loss_output(loss_sum(log_p, targets), right_count(log_p, targets)), call));
      saved kept;
      if (keeps(call))
        kept.input_gradient =
            logit_gradient(std::move(log_p), targets, call.loss_weight, x.scalar_type()).view(x.sizes());
      call.out[0] = std::move(result).give();
      return kept;
    });
  }
  void backward(const sy_call& call, saved&& kept) { hand_over(call, std::move(kept)); }

 private:
  std::optional<int64_t> ignore_;
};

}  // namespace sy
