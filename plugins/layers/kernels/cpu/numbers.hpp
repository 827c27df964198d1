// Sixteen numbers at a time (eight of fp64), whatever the width of the processor's registers, so that sums have the
// same order and results the same bits on every processor. Compiled once for each kind of processor, in a namespace of
// its own.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "../lane.hpp"

#define SY_INLINE [[gnu::always_inline]] inline

namespace sy::kernels::SY_KERNELS_FOR {

#if defined(__AVX512F__)
inline constexpr int register_bytes = 64;
#elif defined(__AVX2__)
inline constexpr int register_bytes = 32;
#else
inline constexpr int register_bytes = 16;
#endif

/// The elements of 16-bit tensors, as bits.
struct bfloat {
  uint16_t bits;
};
struct half {
  uint16_t bits;
};

// One register of numbers, of their bits, and of as many 16-bit elements.
template <class W>
struct registers;
template <>
struct registers<float> {
  typedef float numbers __attribute__((vector_size(register_bytes)));
  typedef uint32_t bits __attribute__((vector_size(register_bytes)));
  typedef int32_t whole __attribute__((vector_size(register_bytes)));
  typedef uint16_t narrow __attribute__((vector_size(register_bytes / 2)));
};
template <>
struct registers<double> {
  typedef double numbers __attribute__((vector_size(register_bytes)));
};

template <class T>
struct wide_of {
  using type = float;
};
template <>
struct wide_of<double> {
  using type = double;
};
template <class T>
using wide_t = typename wide_of<T>::type;

template <class W>
struct numbers {
  using part = typename registers<W>::numbers;
  static constexpr int lanes = 64 / sizeof(W);
  static constexpr int parts = 64 / register_bytes;
  part at[parts];

  SY_INLINE numbers() = default;
  SY_INLINE numbers(W all) {
    for (part& p : at) p = part{} + all;
  }
  /// f(part of a, part of b, ...), part by part.
  template <class F, class... More>
  SY_INLINE static numbers each(F f, const More&... more) {
    numbers made;
    for (int k = 0; k < parts; ++k) made.at[k] = f(more.at[k]...);
    return made;
  }
  SY_INLINE friend numbers operator+(numbers a, numbers b) {
    return each([](part x, part y) { return x + y; }, a, b);
  }
  SY_INLINE friend numbers operator-(numbers a, numbers b) {
    return each([](part x, part y) { return x - y; }, a, b);
  }
  SY_INLINE friend numbers operator*(numbers a, numbers b) {
    return each([](part x, part y) { return x * y; }, a, b);
  }
  SY_INLINE friend numbers operator/(numbers a, numbers b) {
    return each([](part x, part y) { return x / y; }, a, b);
  }
  SY_INLINE numbers& operator+=(numbers b) { return *this = *this + b; }
};

/// The larger of two; a where one is no number.
template <class W>
SY_INLINE numbers<W> larger(numbers<W> a, numbers<W> b) {
  using part = typename numbers<W>::part;
  return numbers<W>::each([](part x, part y) { return y > x ? y : x; }, a, b);
}

// ---- elements of tensors --------------------------------------------------------------------------------------------

using f32_numbers = registers<float>::numbers;
using f32_bits = registers<float>::bits;
using u16_elements = registers<float>::narrow;

/// a b + c, rounded once: where the processor cannot, the C library does it slowly, with the same bits.
SY_INLINE f32_numbers fused(f32_numbers a, f32_numbers b, f32_numbers c) {
#if defined(__AVX512F__)
  return (f32_numbers)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);
#elif defined(__AVX2__) && defined(__FMA__)
  return (f32_numbers)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);
#else
  for (int i = 0; i < register_bytes / 4; ++i) c[i] = __builtin_fmaf(a[i], b[i], c[i]);
  return c;
#endif
}
SY_INLINE f32_numbers fused(f32_numbers a, f32_numbers b, float c) { return fused(a, b, f32_numbers{} + c); }

SY_INLINE f32_numbers widen(u16_elements from, bfloat) {
  return (f32_numbers)(__builtin_convertvector(from, f32_bits) << 16);
}
SY_INLINE f32_numbers widen(u16_elements from, half) {
  const f32_bits all = __builtin_convertvector(from, f32_bits), sign = (all & 0x8000u) << 16, rest = all & 0x7FFFu;
  // Exponent bias 15 against 127: read as a float the bits are 2^-112 of the value, subnormals included.
  const f32_bits finite = (f32_bits)((f32_numbers)(rest << 13) * 0x1p112f);
  const f32_bits special = (rest << 13) | 0x7F800000u;
  return (f32_numbers)(sign | (rest >= 0x7C00u ? special : finite));
}

// Rounding as switchyard/cpp/float16.hpp.
SY_INLINE u16_elements narrow(f32_numbers from, bfloat) {
  const f32_bits u = (f32_bits)from;
  const f32_bits rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16, quiet = (u >> 16) | 0x40u;
  return __builtin_convertvector((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded, u16_elements);
}
SY_INLINE u16_elements narrow(f32_numbers from, half) {
  const f32_bits u = (f32_bits)from, sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
  const f32_bits normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  const f32_bits small = magnitude < 0x38800000u ? magnitude : magnitude & 0u;
  const f32_numbers shifted = (f32_numbers)small + 0.5f;  // whose last place counts 2^-24, the smallest subnormal
  const f32_bits subnormal = (f32_bits)shifted - 0x3F000000u;
  f32_bits made = magnitude < 0x38800000u ? subnormal : normal;
  made = magnitude >= 0x477FF000u ? (made & 0u) + 0x7C00u : made;  // 65520 and above round to infinity
  made = magnitude > 0x7F800000u ? (made & 0u) + 0x7E00u : made;
  return __builtin_convertvector(sign | made, u16_elements);
}

/// All lanes of from.
template <class T>
SY_INLINE numbers<wide_t<T>> load(const T* from) {
  numbers<wide_t<T>> made;
  if constexpr (sizeof(T) == 2) {
    u16_elements elements;
    for (int k = 0; k < made.parts; ++k) {
      std::memcpy(&elements, from + k * (made.lanes / made.parts), sizeof elements);
      made.at[k] = widen(elements, T{});
    }
  } else {
    std::memcpy(&made, from, sizeof made);
  }
  return made;
}
template <class T>
SY_INLINE void store(T* to, numbers<wide_t<T>> from) {
  if constexpr (sizeof(T) == 2) {
    for (int k = 0; k < from.parts; ++k) {
      const u16_elements elements = narrow(from.at[k], T{});
      std::memcpy(to + k * (from.lanes / from.parts), &elements, sizeof elements);
    }
  } else {
    std::memcpy(to, &from, sizeof from);
  }
}

/// The first n lanes of from, then zeros.
template <class T>
SY_INLINE numbers<wide_t<T>> load(const T* from, int n) {
  if (n == numbers<wide_t<T>>::lanes) return load(from);
  T all[numbers<wide_t<T>>::lanes] = {};
  std::memcpy(all, from, static_cast<std::size_t>(n) * sizeof(T));
  return load(static_cast<const T*>(all));
}
template <class T>
SY_INLINE void store(T* to, numbers<wide_t<T>> from, int n) {
  if (n == from.lanes) return store(to, from);
  T all[numbers<wide_t<T>>::lanes];
  store(static_cast<T*>(all), from);
  std::memcpy(to, all, static_cast<std::size_t>(n) * sizeof(T));
}

/// What a T would hold.
template <class T>
SY_INLINE numbers<wide_t<T>> as_stored(numbers<wide_t<T>> v) {
  if constexpr (sizeof(T) == 2)
    return numbers<float>::each([](f32_numbers x) { return widen(narrow(x, T{}), T{}); }, v);
  else
    return v;
}

/// The first n lanes; `other` in the rest.
template <class W>
SY_INLINE numbers<W> first(numbers<W> v, int n, W other = 0) {
  if (n == v.lanes) return v;
  W all[numbers<W>::lanes];
  std::memcpy(all, &v, sizeof all);
  for (int j = n; j < v.lanes; ++j) all[j] = other;
  std::memcpy(&v, all, sizeof all);
  return v;
}

/// to = from, of n elements.
template <class T>
SY_INLINE void copy(T* to, const T* from, int64_t n) {
  constexpr int64_t at_once = 64 / sizeof(T);
  int64_t i = 0;
  for (; i + at_once <= n; i += at_once) std::memcpy(to + i, from + i, 64);
  if (i < n) std::memcpy(to + i, from + i, static_cast<std::size_t>(n - i) * sizeof(T));
}

/// body(i, lanes) for i = 0, lanes, 2 lanes ...; the last may have fewer.
template <class W, class Body>
SY_INLINE void by_lanes(int64_t n, const Body& body) {
  constexpr int lanes = numbers<W>::lanes;
  int64_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, lanes);
  if (i < n) body(i, static_cast<int>(n - i));
}

/// Lanes 0 and half, 1 and half + 1 ... are added, then the same with what that gives.
template <class W>
SY_INLINE W sum_of(numbers<W> v) {
  W all[numbers<W>::lanes];
  std::memcpy(all, &v, sizeof all);
  for (int n = v.lanes / 2; n > 0; n /= 2)
    for (int j = 0; j < n; ++j) all[j] += all[j + n];
  return all[0];
}
template <class W>
SY_INLINE W largest_of(numbers<W> v) {
  W all[numbers<W>::lanes];
  std::memcpy(all, &v, sizeof all);
  for (int n = v.lanes / 2; n > 0; n /= 2)
    for (int j = 0; j < n; ++j) all[j] = all[j + n] > all[j] ? all[j + n] : all[j];
  return all[0];
}

/// Fewer rows than these are not worth another thread.
SY_INLINE int64_t rows_at_once(int64_t width) { return std::max<int64_t>(1, 16384 / std::max<int64_t>(1, width)); }

// ---- types ----------------------------------------------------------------------------------------------------------

/// run(T()) with the element type of `type`, which was checked.
template <class Run>
SY_INLINE void with_type(sy_dtype type, const Run& run) {
  if (type.bits == 64) return run(double());
  if (type.bits == 32) return run(float());
  if (type.code == SY_BFLOAT) return run(bfloat());
  run(half());
}

/// to += from over n elements of a gradient that begins at element `first`.
template <class W>
SY_INLINE void add_to(sum to, int64_t first, int64_t n, const W* from) {
  const auto add = [&](auto* gradient) {
    using G = std::remove_pointer_t<decltype(gradient)>;
    by_lanes<wide_t<G>>(n, [&](int64_t i, int m) {
      if constexpr (std::is_same_v<W, wide_t<G>>) {
        store(gradient + i, load(gradient + i, m) + load(from + i, m), m);
      } else {
        wide_t<G> terms[numbers<wide_t<G>>::lanes] = {};
        for (int j = 0; j < m; ++j) terms[j] = static_cast<wide_t<G>>(from[i + j]);
        store(gradient + i, load(gradient + i, m) + load(static_cast<const wide_t<G>*>(terms)), m);
      }
    });
  };
  if (to.type.bits == 64) return add(static_cast<double*>(to.data) + first);
  if (to.type.bits == 32) return add(static_cast<float*>(to.data) + first);
  add(static_cast<bfloat*>(to.data) + first);
}

}  // namespace sy::kernels::SY_KERNELS_FOR
