// exp and what is made of it over many numbers. For fp32: exp and tanh within 2 units in the last place, subnormal
// results included; the normal distribution within 2^-22, and relatively within 2^-22 (4 + x^2) in its left tail. The
// coefficients are near-minimax fits (interpolation at Chebyshev nodes in 40 digits). fp64 asks the C library.
#pragma once

#include "numbers.hpp"

namespace sy::kernels::SY_KERNELS_FOR {

/// f of each lane.
template <class F>
SY_INLINE numbers<double> each_lane(numbers<double> v, F f) {
  double all[numbers<double>::lanes];
  std::memcpy(all, &v, sizeof all);
  for (double& x : all) x = f(x);
  std::memcpy(&v, all, sizeof all);
  return v;
}

/// v 2^n for whole n from -256 to 255, rounded once.
SY_INLINE f32_numbers times_power(f32_numbers v, [[maybe_unused]] registers<float>::whole n,
                                  [[maybe_unused]] f32_numbers n_as_number) {
#ifdef __AVX512F__
  return (f32_numbers)_mm512_maskz_scalef_ps(0xFFFF, (__m512)v, (__m512)n_as_number);
#else
  const registers<float>::whole low = n >> 1, high = n - low;  // two factors, so that neither overflows
  return v * (f32_numbers)((low + 127) << 23) * (f32_numbers)((high + 127) << 23);
#endif
}

/// x = n ln 2 + r with |r| <= ln 2 / 2: 2^n (1 + r + r^2 q(r)).
SY_INLINE f32_numbers exp_of(f32_numbers x) {
  using whole = registers<float>::whole;
  constexpr float to_whole = 12582912.0f;  // 1.5 x 2^23: what is added to it is rounded to a whole number
  constexpr float ln2 = 0x1.62ep-1f, rest = 0x1.0bfbe8p-15f;  // ln 2 in two parts; n times the first is exact
  x = x < -104.0f ? f32_numbers{} - 104.0f : x;
  x = x > 89.0f ? f32_numbers{} + 89.0f : x;
  const f32_numbers shifted = fused(x, f32_numbers{} + 1.44269504f, to_whole), n = shifted - to_whole;
  const f32_numbers r = fused(n, f32_numbers{} - rest, fused(n, f32_numbers{} - ln2, x));
  f32_numbers q = fused(r, f32_numbers{} + 0.00139262134663f, 0.00836320297158f);
  q = fused(q, r, 0.0416665544377f);
  q = fused(q, r, 0.16666576846f);
  q = fused(q, r, 0.5f);
  return times_power(fused(q * r, r, r) + 1.0f, (whole)shifted - 0x4B400000, n);
}
SY_INLINE numbers<float> exp_of(numbers<float> x) {
  return numbers<float>::each([](f32_numbers v) { return exp_of(v); }, x);
}
SY_INLINE numbers<double> exp_of(numbers<double> x) {
  return each_lane(x, [](double v) { return std::exp(v); });
}

template <class W>
SY_INLINE numbers<W> sigmoid_of(numbers<W> x) {
  return numbers<W>(1) / (numbers<W>(1) + exp_of(numbers<W>(0) - x));
}

/// x + x^3 p(x^2) where |x| < 0.625, else 1 - 2 / (exp(2 |x|) + 1) with the sign of x.
SY_INLINE f32_numbers tanh_of(f32_numbers x) {
  const f32_bits sign = (f32_bits)x & 0x80000000u;
  const f32_numbers size = (f32_numbers)((f32_bits)x & 0x7FFFFFFFu), square = x * x;
  f32_numbers p = fused(square, f32_numbers{} + 0.00228186135013f, -0.00833428699996f);
  p = fused(p, square, 0.0217659525475f);
  p = fused(p, square, -0.0539588930394f);
  p = fused(p, square, 0.133333020003f);
  p = fused(p, square, -0.333333331618f);
  const f32_numbers near = fused(size * square, p, size), far = 1.0f - 2.0f / (exp_of(size + size) + 1.0f);
  return (f32_numbers)((f32_bits)(size < 0.625f ? near : far) | sign);
}
SY_INLINE numbers<float> tanh_of(numbers<float> x) {
  return numbers<float>::each([](f32_numbers v) { return tanh_of(v); }, x);
}
SY_INLINE numbers<double> tanh_of(numbers<double> x) {
  return each_lane(x, [](double v) { return std::tanh(v); });
}

/// Phi, the standard normal distribution, and its density.
template <class W>
struct normal {
  numbers<W> cumulative, density;
};
/// Phi(-x) = exp(-x^2 / 2) t p(t) / 2 with t = 1 / (1 + 0.4 x / sqrt 2) for x >= 0, Phi(x) = 1 - Phi(-x).
SY_INLINE f32_numbers normal_of(f32_numbers x, f32_numbers bell) {
  const f32_numbers size = (f32_numbers)((f32_bits)x & 0x7FFFFFFFu);
  const f32_numbers t = 1.0f / fused(size, f32_numbers{} + 0.282842712475f, 1.0f);
  f32_numbers p = fused(t, f32_numbers{} + 0.03912343071f, -0.1304982667f);
  p = fused(p, t, 0.06489190148f);
  p = fused(p, t, 0.1083291927f);
  p = fused(p, t, 0.06678168978f);
  p = fused(p, t, 0.1984286095f);
  p = fused(p, t, 0.2007297545f);
  p = fused(p, t, 0.2265868588f);
  p = fused(p, t, 0.225626869f);
  const f32_numbers tail = 0.5f * bell * (t * p);
  return x < 0.0f ? tail : 1.0f - tail;
}
SY_INLINE normal<float> normal_of(numbers<float> x) {
  const numbers<float> bell = exp_of(x * x * numbers<float>(-0.5f));
  const auto of = [](f32_numbers v, f32_numbers b) { return normal_of(v, b); };
  return {numbers<float>::each(of, x, bell), bell * numbers<float>(0.398942280401f)};
}
SY_INLINE normal<double> normal_of(numbers<double> x) {
  return {each_lane(x, [](double v) { return 0.5 * std::erfc(-v * 0.70710678118654752440); }),
          each_lane(x, [](double v) { return std::exp(-0.5 * v * v) * 0.39894228040143267794; })};
}

}  // namespace sy::kernels::SY_KERNELS_FOR
