// Tensors as vectors of numbers: the plain layers read everything into fp32, compute in double in a fixed order, and
// round once when they write. Slow and exactly repeatable.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "switchyard/cpp/float16.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace plain {

inline float load(const sy_view& v, int64_t element) {
  if (v.dtype.bits == 32) return sy::data<float>(v)[element];
  const uint16_t bits = sy::data<uint16_t>(v)[element];
  return v.dtype.code == SY_BFLOAT ? sy::float16::from_bf16(bits) : sy::float16::from_f16(bits);
}
inline void store(const sy_view& v, int64_t element, float value) {
  if (v.dtype.bits == 32) {
    sy::data<float>(v)[element] = value;
  } else {
    const bool brain = v.dtype.code == SY_BFLOAT;
    sy::data<uint16_t>(v)[element] = brain ? sy::float16::to_bf16(value) : sy::float16::to_f16(value);
  }
}

/// The offsets of a view's elements in row-major order, in elements.
inline std::vector<int64_t> offsets(const sy_view& v) {
  std::vector<int64_t> all(static_cast<std::size_t>(sy::count(v)));
  for (std::size_t n = 0; n < all.size(); ++n) {
    auto rest = static_cast<int64_t>(n);
    for (int32_t d = v.ndim; d-- > 0; rest /= v.shape[d]) all[n] += rest % v.shape[d] * v.strides[d];
  }
  return all;
}

inline bool is_number(sy_dtype t) { return sy::same(t, sy::f32) || sy::same(t, sy::bf16) || sy::same(t, sy::f16); }

/// A float view (fp32, bf16, fp16; any strides) in row-major order.
inline std::vector<float> read(const sy_view& v) {
  if (!is_number(v.dtype)) throw sy::fault(SY_E_ARGUMENT, "expected fp32, bf16 or fp16");
  std::vector<float> all;
  for (const int64_t o : offsets(v)) all.push_back(load(v, o));
  return all;
}
inline std::vector<int64_t> read_ids(const sy_view& v) {
  std::vector<int64_t> all;
  for (const int64_t o : offsets(v))
    all.push_back(v.dtype.bits == 64 ? sy::data<int64_t>(v)[o] : sy::data<int32_t>(v)[o]);
  return all;
}
/// A gradient that may be missing: zeros then.
inline std::vector<float> read_or_zeros(sy_tensor* t, std::size_t count) {
  return t ? read(*sy::host()->tensor_view(t)) : std::vector<float>(count, 0.0f);
}

template <class Number>
void write(const sy_view& v, std::span<const Number> values) {
  const auto at = offsets(v);
  for (std::size_t i = 0; i < at.size(); ++i) store(v, at[i], static_cast<float>(values[i]));
}
/// to += values, each rounded to fp32 first; the sum is rounded to the view's type.
inline void add(const sy_view& v, std::span<const double> values) {
  const auto at = offsets(v);
  for (std::size_t i = 0; i < at.size(); ++i) store(v, at[i], load(v, at[i]) + static_cast<float>(values[i]));
}

inline std::vector<int64_t> shape(const sy_view& v) { return {v.shape, v.shape + v.ndim}; }

/// A new tensor, given into an output slot.
template <class Number>
sy_tensor* made(const sy_call& call, const std::vector<int64_t>& shape, sy_dtype type, std::span<const Number> values) {
  sy::tensor t = sy::new_host_tensor(call, shape, type);
  write(t.view(), values);
  return std::move(t).give();
}
template <class Number>
sy_tensor* made_like(const sy_call& call, const sy_view& v, const std::vector<Number>& values) {
  return made(call, shape(v), v.dtype, std::span<const Number>(values));
}

inline const sy_view& in(const sy_call& call, uint32_t i) { return *sy::host()->tensor_view(call.in[i]); }
inline bool wants(const sy_call& call, uint32_t i) { return (call.want >> i & 1) != 0; }

}  // namespace plain
