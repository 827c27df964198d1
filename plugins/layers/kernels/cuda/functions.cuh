// Activations and their slopes. For 16-bit tensors exp is the hardware's and the normal distribution a short fit, with
// errors far below their rounding (2^-16 against 2^-11 of fp16); fp32 and fp64 use CUDA's own functions.
#pragma once

#include "../pointwise.hpp"
#include "elements.cuh"

namespace sy::kernels::cuda {

__device__ __forceinline__ float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}
__device__ __forceinline__ float fast_inverse(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

template <bool fast, class W>
__device__ __forceinline__ W exp_of(W x) {
  if constexpr (sizeof(W) == 8)
    return exp(x);
  else if constexpr (fast)
    return fast_exp2(x * 1.44269504f);
  else
    return expf(x);
}
template <bool fast, class W>
__device__ __forceinline__ W sigmoid_of(W x) {
  if constexpr (fast)
    return fast_inverse(1.0f + fast_exp2(x * -1.44269504f));
  else
    return W(1) / (W(1) + exp_of<false>(-x));
}
/// Phi(x) and the density there.
template <bool fast, class W>
__device__ __forceinline__ void normal_of(W x, W& cumulative, W& density) {
  if constexpr (sizeof(W) == 8) {
    cumulative = normcdf(x);
    density = exp(-0.5 * x * x) * 0.39894228040143267794;
  } else if constexpr (fast) {
    // Phi(-x) = exp(-x^2 / 2) t p(t) with t = 1 / (1 + 0.45 x / sqrt 2) for x >= 0; p as in cpu/functions.hpp, shorter
    const float bell = fast_exp2(x * x * -0.72134752f), t = fast_inverse(fmaf(fabsf(x), 0.318198052f, 1.0f));
    float p = fmaf(t, -0.0680664811f, 0.146578989f);
    p = fmaf(p, t, 0.0441747333f);
    p = fmaf(p, t, 0.124533595f);
    p = fmaf(p, t, 0.125786578f);
    p = fmaf(p, t, 0.126988123f);
    const float tail = bell * t * p;
    cumulative = x < 0.0f ? tail : 1.0f - tail;
    density = bell * 0.398942280f;
  } else {
    cumulative = normcdff(x);
    density = expf(-0.5f * x * x) * 0.398942280f;
  }
}

// Each has value(x), and slope(kept), where kept is x or y as reads_output says.

struct relu {
  template <bool fast, class W>
  __device__ static W value(W x) {
    return x < W(0) ? W(0) : x;
  }
  template <bool fast, class W>
  __device__ static W slope(W y) {
    return y > W(0) ? W(1) : W(0);
  }
};
struct gelu {
  template <bool fast, class W>
  __device__ static W value(W x) {
    W cumulative, density;
    normal_of<fast>(x, cumulative, density);
    return x * cumulative;
  }
  template <bool fast, class W>
  __device__ static W slope(W x) {
    W cumulative, density;
    normal_of<fast>(x, cumulative, density);
    return multiply_add(x, density, cumulative);
  }
};
/// x / 2 (1 + tanh u) = x sigmoid(2 u) with 2 u = 2 sqrt(2 / pi) (x + 0.044715 x^3).
struct gelu_tanh {
  template <bool fast, class W>
  __device__ static W value(W x) {
    const W twice = W(1.5957691216057308), cubic = W(1.5957691216057308 * 0.044715);
    return x * sigmoid_of<fast>(x * multiply_add(x * x, cubic, twice));
  }
  template <bool fast, class W>
  __device__ static W slope(W x) {
    const W twice = W(1.5957691216057308), cubic = W(1.5957691216057308 * 0.044715), square = x * x;
    const W s = sigmoid_of<fast>(x * multiply_add(square, cubic, twice));
    const W inner = multiply_add(square, W(3) * cubic, twice);
    return multiply_add(x * inner, s * (W(1) - s), s);
  }
};
struct silu {
  template <bool fast, class W>
  __device__ static W value(W x) {
    return x * sigmoid_of<fast>(x);
  }
  template <bool fast, class W>
  __device__ static W slope(W x) {
    const W s = sigmoid_of<fast>(x);
    return s * multiply_add(x, W(1) - s, W(1));
  }
};
struct hyperbolic {
  template <bool fast, class W>
  __device__ static W value(W x) {
    if constexpr (sizeof(W) == 8)
      return tanh(x);
    else
      return tanhf(x);
  }
  template <bool fast, class W>
  __device__ static W slope(W y) {
    return W(1) - y * y;
  }
};
struct logistic {
  template <bool fast, class W>
  __device__ static W value(W x) {
    return sigmoid_of<fast>(x);
  }
  template <bool fast, class W>
  __device__ static W slope(W y) {
    return y * (W(1) - y);
  }
};

/// run(rule) with the rule of f.
template <class Run>
const char* with_function(function f, const Run& run) {
  switch (f) {
    case function::relu:
      return run(relu());
    case function::gelu:
      return run(gelu());
    case function::gelu_tanh:
      return run(gelu_tanh());
    case function::silu:
      return run(silu());
    case function::tanh:
      return run(hyperbolic());
    case function::sigmoid:
      return run(logistic());
  }
  return "no such function";
}

}  // namespace sy::kernels::cuda
