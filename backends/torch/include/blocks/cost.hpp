// What the cost() of layers is built from: counting memory as autograd takes and drops it, and flops of products.
#pragma once

#include <algorithm>
#include <cstdint>

#include "switchyard/cpp/torch.hpp"

namespace sy {

/// Bytes alive while a forward or backward is walked through in thought, counted from its start.
struct tally {
  int64_t live = 0, peak = 0;
  void take(uint64_t bytes) { peak = std::max(peak, live += static_cast<int64_t>(bytes)); }
  void drop(uint64_t bytes) { live -= static_cast<int64_t>(bytes); }
  /// For the time of one operation.
  void hold(uint64_t bytes) { take(bytes), drop(bytes); }
  /// Forward: what was alive at the worst moment besides what is alive at the end (saved bytes and outputs).
  uint64_t workspace() const { return static_cast<uint64_t>(peak - live); }
  /// Backward: what was alive at the worst moment besides what was saved and the input gradients.
  uint64_t workspace_besides(uint64_t input_gradients) const {
    return static_cast<uint64_t>(std::max<int64_t>(0, peak - static_cast<int64_t>(input_gradients)));
  }
};

/// Bytes of one element.
inline uint64_t width_of(sy_dtype t) { return t.bits / 8; }
inline uint64_t elements_of(const sy_port& p) { return bytes_of(p) / width_of(p.dtype); }
/// A weight's gradient of one micro-batch until it is added to the core's sum in fp32: where its own type is another
/// one, LibTorch on the CPU makes an fp32 copy for the addition.
inline uint64_t gradient_bytes(uint64_t elements, uint64_t width) { return elements * (width < 4 ? width + 4 : width); }
/// Product of all dimensions but the last: the rows that a linear layer sees.
inline uint64_t rows_of(const sy_port& p) { return elements_of(p) / static_cast<uint64_t>(p.shape[p.ndim - 1]); }
inline int64_t last_dim(const sy_port& p) { return p.shape[p.ndim - 1]; }

/// y[rows, out] = x[rows, in] w^T + b: a multiplication and an addition per element of each product.
inline void add_linear_flops(cost& c, uint64_t rows, int64_t in, int64_t out, bool bias) {
  const double product = 2.0 * static_cast<double>(rows) * static_cast<double>(in) * static_cast<double>(out);
  const double shift = bias ? static_cast<double>(rows) * static_cast<double>(out) : 0.0;
  c.flops_forward += product + shift;
  c.flops_input += product;
  c.flops_weight += product + shift;
}
inline void add_elementwise_flops(cost& c, double forward, double backward) {
  c.flops_forward += forward;
  c.flops_input += backward;
}

/// The cost of a layer that is one part (one input and output of the same shape) with add_flops, walk_forward,
/// walk_backward and keeps_input.
template <class Part>
cost cost_of_part(const Part& part, uint32_t kind, const sy_port& x) {
  cost c;
  part.add_flops(c, x);
  tally forward, backward;
  part.walk_forward(forward, x, kind == SY_TRAIN);
  c.bytes_workspace = forward.workspace();
  if (kind != SY_TRAIN) return c;
  c.keep_in = part.keeps_input(x.dtype) ? 1 : 0;
  c.bytes_saved = static_cast<uint64_t>(forward.live) - bytes_of(x);
  part.walk_backward(backward, x);
  c.bytes_workspace_backward = backward.workspace_besides(bytes_of(x));
  return c;
}

}  // namespace sy
