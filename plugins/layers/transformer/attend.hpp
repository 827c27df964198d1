// Attention and its gradients: softmax(q k^T / sqrt D) v, with LibTorch's fused operators where one fits, else with
// products, which also drop probabilities.
#pragma once

#include <array>
#include <optional>

#include "kernels/drop.hpp"
#include "switchyard/cpp/torch.hpp"

namespace sy {

/// Each [rows, heads, time, head width], of any strides; equally many heads.
struct query_key_value {
  at::Tensor q, k, v;
};

struct attention_call {
  const sy_call& call;
  bool causal;
  std::optional<kernels::drawing> drops;  // of probabilities: samples are rows, [heads, time, time] each
};

/// What one forward keeps besides q, k and v.
struct attended {
  enum class by : uint8_t { cpu_flash, cudnn, flash, efficient, products } method = by::products;
  at::Tensor out;                    // [rows, heads, time, head width]; [rows, time, heads, head width] in memory
  at::Tensor log_sum, seed, offset;  // of the fused operators
  at::Tensor probabilities;          // of products, before dropping
  at::Tensor flat() const { return out.transpose(1, 2).reshape({out.size(0) * out.size(2), -1}); }
};

/// keep: a backward follows.
attended attend(const attention_call&, const query_key_value&, bool keep);
/// d_out: the gradient of flat(). The gradients of q, k, v, of any strides.
query_key_value attend_backward(const attention_call&, const query_key_value&, const attended&,
                                const at::Tensor& d_out);

}  // namespace sy
