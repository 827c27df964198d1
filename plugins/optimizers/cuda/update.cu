#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include "kernels.hpp"
#include "segments.cuh"

namespace sy::opt::cuda {
namespace {

constexpr int per_thread = 8;
constexpr uint64_t block_elements = threads * per_thread;

__device__ float widen(float v) { return v; }
__device__ float widen(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void narrow(float v, float& to) { to = v; }
__device__ void narrow(float v, __half& to) { to = __float2half_rn(v); }
__device__ void narrow(float v, __nv_bfloat16& to) { to = __float2bfloat16_rn(v); }

// A rule has Terms, what is constant in a segment and made in double once for each block, and one element's update.

struct Sgd {
  struct Terms {
    float step_size, pull;
    bool first;
  };
  SgdSettings s;

  __device__ Terms terms(const sy_opt_control& control, const Segment& segment) const {
    return {static_cast<float>(-(control.lr * segment.lr_scale)), static_cast<float>(s.weight_decay * segment.decay),
            control.step <= 1};
  }
  __device__ float operator()(const Terms& t, float w, float grad, float* const* states, uint64_t i) const {
    const float g = t.pull == 0.0f ? grad : grad + t.pull * w;
    if (s.momentum == 0) return w + t.step_size * g;
    float* b = states[0] + i;
    const float old_b = t.first ? 0.0f : s.momentum, new_g = t.first ? 1.0f : s.keep;
    const float ahead = s.nesterov ? s.momentum : 0.0f;
    const float now = *b * old_b + new_g * g;
    *b = now;
    return w + t.step_size * (ahead == 0.0f ? now : g + ahead * now);
  }
};

struct Adam {
  struct Terms {
    float shrink, pull, step_size, root_correction;
  };
  AdamSettings s;

  __device__ Terms terms(const sy_opt_control& control, const Segment& segment) const {
    const double lr = control.lr * segment.lr_scale, decay = s.weight_decay * segment.decay;
    const auto step = static_cast<double>(control.step);
    return {s.decoupled && decay != 0 ? static_cast<float>(1 - lr * decay) : 1.0f,
            s.decoupled ? 0.0f : static_cast<float>(decay), static_cast<float>(-lr / (1 - pow(s.beta1, step))),
            static_cast<float>(sqrt(1 - pow(s.beta2, step)))};
  }
  __device__ float operator()(const Terms& t, float w, float grad, float* const* states, uint64_t i) const {
    float *m = states[0] + i, *v = states[1] + i;
    const auto eps = static_cast<float>(s.eps), beta2 = static_cast<float>(s.beta2);
    const auto new_m = static_cast<float>(1 - s.beta1), new_v = static_cast<float>(1 - s.beta2);
    const float start = w * t.shrink;
    const float g = t.pull == 0.0f ? grad : grad + t.pull * start;
    const float old = *m, difference = g - old;
    const float mean = new_m < 0.5f ? old + new_m * difference : g - difference * (1.0f - new_m);
    const float square = *v * beta2 + new_v * g * g;
    *m = mean;
    *v = square;
    return start + t.step_size * mean / (sqrtf(square) / t.root_correction + eps);
  }
};

template <class Grad, class Copy>
struct Storage {
  float* value;
  const Grad* grad;
  Copy* copy;  // NULL: none
  float* states[2];
};

template <class Rule, class Grad, class Copy>
__global__ void update(const Batch batch, const Storage<Grad, Copy> storage, const sy_opt_control* control,
                       const Rule rule) {
  if (control->skip != 0) return;
  const Segment& segment = batch.at[batch.of_block(blockIdx.x)];
  __shared__ typename Rule::Terms terms;
  if (threadIdx.x == 0) terms = rule.terms(*control, segment);
  __syncthreads();
  const auto factor = static_cast<float>(control->inv_scale * control->clip_factor);
  const uint64_t first = (blockIdx.x - segment.first_block) * block_elements;
#pragma unroll
  for (int k = 0; k < per_thread; ++k) {
    const uint64_t within = first + static_cast<uint64_t>(k) * threads + threadIdx.x;
    if (within >= segment.count) return;
    const uint64_t i = segment.offset + within;
    const float now = rule(terms, storage.value[i], widen(storage.grad[i]) * factor, storage.states, i);
    storage.value[i] = now;
    if (storage.copy) narrow(now, storage.copy[i]);
  }
}

template <class Rule, class Grad, class Copy>
const char* run(const sy_opt_span& span, const sy_opt_control* control, const Rule& rule, int states, void* stream) {
  Storage<Grad, Copy> storage{span.value, static_cast<const Grad*>(span.grad), static_cast<Copy*>(span.copy), {}};
  for (int s = 0; s < states; ++s) storage.states[s] = span.states[s];
  for (uint32_t first = 0; first < span.n_segments; first += most_segments) {
    const Batch batch(span, first, block_elements);
    if (batch.blocks == 0) continue;
    update<<<batch.blocks, threads, 0, static_cast<cudaStream_t>(stream)>>>(batch, storage, control, rule);
    const cudaError_t code = cudaGetLastError();
    if (code != cudaSuccess) return cudaGetErrorString(code);
  }
  return nullptr;
}

template <class Rule, class Grad>
const char* with_copy(const sy_opt_span& span, const sy_opt_control* control, const Rule& rule, int states,
                      void* stream) {
  if (!span.copy || span.copy_dtype.bits == 32) return run<Rule, Grad, float>(span, control, rule, states, stream);
  if (span.copy_dtype.code == SY_BFLOAT) return run<Rule, Grad, __nv_bfloat16>(span, control, rule, states, stream);
  return run<Rule, Grad, __half>(span, control, rule, states, stream);
}

template <class Rule>
const char* with_types(const sy_opt_span& span, const sy_opt_control* control, const Rule& rule, int states,
                       void* stream) {
  if (span.grad_dtype.code == SY_BFLOAT) return with_copy<Rule, __nv_bfloat16>(span, control, rule, states, stream);
  return with_copy<Rule, float>(span, control, rule, states, stream);
}

}  // namespace

const char* step(const sy_opt_span& span, const sy_opt_control* on_device, const SgdSettings& settings, void* stream) {
  return with_types(span, on_device, Sgd{settings}, settings.momentum != 0 ? 1 : 0, stream);
}

const char* step(const sy_opt_span& span, const sy_opt_control* on_device, const AdamSettings& settings, void* stream) {
  return with_types(span, on_device, Adam{settings}, 2, stream);
}

}  // namespace sy::opt::cuda
