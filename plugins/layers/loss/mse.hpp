// Squared error: the sum of (x - t)^2 over all elements; the mean over them is the loss of a step.
#pragma once

#include "blocks/cost.hpp"
#include "blocks/softmax_loss.hpp"

namespace sy {

struct mse_layer {
  static constexpr const char* id = "mse";
  static constexpr const char* help =
      "squared error against targets of the same shape (or without the last dimension of 1)";
  static constexpr uint32_t caps = SY_L_LOSS;
  using saved = loss_saved;
  explicit mse_layer(const config&) {}

  std::vector<port> infer(uint32_t kind, ports in) {
    if (kind == SY_FORWARD) return {like(*in[0])};
    if (in.size() < 2) throw fault(SY_E_CONFIG, "mse needs targets");
    const sy_port& targets = *in.back();
    if (!is_float(targets.dtype))
      throw fault(SY_E_CONFIG, "mse needs numbers (floats) as targets; for class numbers use cross_entropy");
    int64_t found = 1;
    for (int32_t d = 0; d < targets.ndim; ++d) found *= targets.shape[d];
    if (static_cast<uint64_t>(found) != elements_of(*in[0]))
      throw fault(SY_E_CONFIG, "mse meets " + std::to_string(elements_of(*in[0])) + " predictions and " +
                                   std::to_string(found) + " targets per micro-batch");
    return {{{2}, f32, false}};
  }
  sy::cost cost(uint32_t kind, const_ports in) const {
    sy::cost c;
    if (kind == SY_FORWARD) return c;
    const uint64_t n = elements_of(*in[0]), elem = width_of(in[0]->dtype), wide = std::max<uint64_t>(4, elem);
    c.flops_forward = 4 * static_cast<double>(n);
    if (kind == SY_TRAIN) c.bytes_saved = n * elem;
    const uint64_t in_fp64 = wide == 8 ? 0 : 8 * n;  // LibTorch widens the squares before it sums them
    c.bytes_workspace = 2 * n * wide + in_fp64 + (elem == wide ? 0 : n * wide) - c.bytes_saved;
    return c;
  }
  saved forward(const sy_call& call) {
    return in_call(call, false, [&]() -> saved {
      const at::Tensor x = borrow(call.in[0]);
      if (call.kind == SY_FORWARD) {
        call.out[0] = lend(x.clone(), call);
        return {};
      }
      const at::ScalarType wide = x.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
      at::Tensor difference = x.to(wide) - borrow(call.in[call.n_in - 1]).view(x.sizes()).to(wide);
      tensor result = tensor::adopt(lend(loss_output(difference.square().sum(at::kDouble), {}), call));
      saved kept;
      if (keeps(call)) kept.input_gradient = difference.mul_(2.0 * call.loss_weight).to(x.scalar_type());
      call.out[0] = std::move(result).give();
      return kept;
    });
  }
  void backward(const sy_call& call, saved&& kept) { hand_over(call, std::move(kept)); }
};

}  // namespace sy
