// The pass over flat storage that the optimizers share: for each segment, in blocks that stay in the first-level cache,
// read the gradient (fp32 or bf16) and unscale it, let the rule update values and states, write the copy in the compute
// type. Every byte goes once through memory.
//
// A rule has  void begin(const segment_terms&)  for what is constant in a segment, and
//             void operator()(float* value, const float* grad, float* const* states, int64_t n) const  for one block.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#ifdef SWITCHYARD_WITH_CUDA
#include "cuda/kernels.hpp"
#endif
#include "float16.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace sy::opt {

inline constexpr int64_t block = 1024;  // elements: 5 arrays of 4 KiB
inline constexpr uint32_t most_states = 2;

/// What a rule needs to know about the segment and the step.
struct segment_terms {
  double lr = 0;     // after the schedule, times the segment's lr_scale
  double decay = 0;  // the segment's factor of the weight decay
  int64_t step = 1;  // applied steps, this one included
};

inline void expect_types(const sy_opt_span& span) {
  if (!same(span.grad_dtype, f32) && !same(span.grad_dtype, bf16))
    throw fault(SY_E_ARGUMENT, "gradients are fp32 or bf16");
  if (span.copy != nullptr && !same(span.copy_dtype, bf16) && !same(span.copy_dtype, f16) &&
      !same(span.copy_dtype, f32))
    throw fault(SY_E_ARGUMENT, "the copy of the weights is fp32, bf16 or fp16");
}

/// True for a span on a GPU, false for one on the CPU.
inline bool on_gpu(const sy_opt_span& span) {
#ifdef SWITCHYARD_WITH_CUDA
  if (span.device.type == SY_DEVICE_CUDA) return true;
#endif
  if (span.device.type != SY_DEVICE_CPU)
    throw fault(SY_E_UNIMPLEMENTED, "this build of the optimizer does not update weights on devices of type " +
                                        std::to_string(span.device.type));
  return false;
}

/// body() starts kernels and returns CUDA's text of a failure, or NULL.
template <class Body>
void on_stream(const sy_opt_span& span, const char* what, Body&& body) {
  expect_types(span);
  if (const char* text = body())
    throw fault(SY_E_DEVICE, std::string(what) + " on cuda:" + std::to_string(span.device.index) + ": " + text);
}

/// out[i] = grad[first + i] * factor. The product is exact where factor is a power of two, as loss scales are.
inline void read_gradient(const sy_opt_span& span, int64_t first, int64_t n, float factor, float* __restrict out) {
  if (span.grad_dtype.code == SY_BFLOAT) {
    const auto* __restrict g = static_cast<const uint16_t*>(span.grad) + first;
    for (int64_t i = 0; i < n; ++i) out[i] = from_bf16(g[i]) * factor;
  } else {
    const auto* __restrict g = static_cast<const float*>(span.grad) + first;
    for (int64_t i = 0; i < n; ++i) out[i] = g[i] * factor;
  }
}

inline void write_copy(const sy_opt_span& span, int64_t first, int64_t n) {
  if (span.copy == nullptr) return;
  const float* __restrict value = span.value + first;
  if (same(span.copy_dtype, f32)) {
    std::copy(value, value + n, static_cast<float*>(span.copy) + first);
  } else if (same(span.copy_dtype, bf16)) {
    auto* __restrict copy = static_cast<uint16_t*>(span.copy) + first;
    for (int64_t i = 0; i < n; ++i) copy[i] = to_bf16(value[i]);
  } else {
    auto* __restrict copy = static_cast<uint16_t*>(span.copy) + first;
    for (int64_t i = 0; i < n; ++i) copy[i] = to_f16(value[i]);
  }
}

/// One optimizer step. Padding between segments is neither read nor written.
template <class Rule>
void update(const sy_opt_span& span, const sy_opt_control& control, Rule rule, uint32_t n_states) {
  expect_types(span);
  if (control.skip != 0) return;
  const auto factor = static_cast<float>(control.inv_scale * control.clip_factor);
  for (uint32_t k = 0; k < span.n_segments; ++k) {
    const sy_opt_segment& segment = *span.segments[k];
    rule.begin({control.lr * segment.lr_scale, segment.decay, control.step});
    const auto begin = static_cast<int64_t>(segment.offset), end = begin + static_cast<int64_t>(segment.count);
    for (int64_t first = begin; first < end; first += block) {
      const int64_t n = std::min(block, end - first);
      alignas(64) float grad[block];
      float* states[most_states] = {};
      for (uint32_t i = 0; i < n_states; ++i) states[i] = span.states[i] + first;
      read_gradient(span, first, n, factor, grad);
      rule(span.value + first, grad, states, n);
      write_copy(span, first, n);
    }
  }
}

/// Sum of squares of n elements in double: eight lanes, element i in lane i mod 8, then the lanes in pairs. The order
/// depends on nothing but n; squares of fp32 are exact in double.
template <class Element, class Widen>
double sum_of_squares(const Element* __restrict g, int64_t n, Widen widen) {
  double lane[8] = {};
  int64_t i = 0;
  for (; i + 8 <= n; i += 8)
    for (int j = 0; j < 8; ++j) {
      const double x = widen(g[i + j]);
      lane[j] += x * x;
    }
  for (int j = 0; i < n; ++i, ++j) {
    const double x = widen(g[i]);
    lane[j] += x * x;
  }
  return ((lane[0] + lane[4]) + (lane[2] + lane[6])) + ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/// out[k] for every segment k, of the gradients as they are stored; out lies on the span's device.
inline void squared_norms(const sy_opt_span& span, double* out, [[maybe_unused]] void* stream) {
#ifdef SWITCHYARD_WITH_CUDA
  if (on_gpu(span)) return on_stream(span, "squared norms", [&] { return cuda::squared_norms(span, out, stream); });
#endif
  on_gpu(span);
  expect_types(span);
  for (uint32_t k = 0; k < span.n_segments; ++k) {
    const sy_opt_segment& s = *span.segments[k];
    const auto n = static_cast<int64_t>(s.count);
    if (span.grad_dtype.code == SY_BFLOAT)
      out[k] = sum_of_squares(static_cast<const uint16_t*>(span.grad) + s.offset, n, from_bf16);
    else
      out[k] = sum_of_squares(static_cast<const float*>(span.grad) + s.offset, n, [](float x) { return x; });
  }
}

}  // namespace sy::opt
