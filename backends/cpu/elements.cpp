#include "elements.hpp"

#include <cstring>
#include <type_traits>

#include "switchyard/cpp/float16.hpp"
#include "switchyard/cpp/plugin.hpp"

namespace sy::cpu {
namespace {

// Each type knows its bits in memory, and how to become and to be made from a wide type (float or double).
struct fp64 {
  using bits = double;
  static double widen(double v) { return v; }
  static double round(double v) { return v; }
};
struct fp32 {
  using bits = float;
  static float widen(float v) { return v; }
  static float round(float v) { return v; }
  static float round(double v) { return static_cast<float>(v); }
};
struct fp16 {
  using bits = uint16_t;
  static float widen(uint16_t v) { return float16::from_f16(v); }
  static uint16_t round(float v) { return float16::to_f16(v); }
  static uint16_t round(double v) { return float16::to_f16(float16::to_odd(v)); }
};
struct bfloat {
  using bits = uint16_t;
  static float widen(uint16_t v) { return float16::from_bf16(v); }
  static uint16_t round(float v) { return float16::to_bf16(v); }
  static uint16_t round(double v) { return float16::to_bf16(float16::to_odd(v)); }
};

template <class Body>
void with_type(sy_dtype t, Body&& body) {
  if (same(t, f32)) return body(fp32{});
  if (same(t, bf16)) return body(bfloat{});
  if (same(t, f16)) return body(fp16{});
  if (same(t, f64)) return body(fp64{});
  throw fault(SY_E_ARGUMENT, "expected fp64, fp32, fp16 or bf16, found type code " + std::to_string(t.code) + " of " +
                                 std::to_string(t.bits) + " bits");
}

}  // namespace

void cast(void* to, sy_dtype to_type, const void* from, sy_dtype from_type, int64_t count) {
  with_type(to_type, [&](auto t) {
    with_type(from_type, [&](auto f) {
      using T = decltype(t);
      using F = decltype(f);
      auto* out = static_cast<typename T::bits*>(to);
      const auto* in = static_cast<const typename F::bits*>(from);
      if constexpr (std::is_same_v<T, F>) {
        if (count > 0) std::memmove(out, in, static_cast<std::size_t>(count) * sizeof *in);  // a NaN keeps its bits
      } else {
        for (int64_t i = 0; i < count; ++i) out[i] = T::round(F::widen(in[i]));
      }
    });
  });
}

void accumulate(void* to, sy_dtype to_type, const void* from, sy_dtype from_type, int64_t count) {
  with_type(to_type, [&](auto t) {
    with_type(from_type, [&](auto f) {
      using T = decltype(t);
      using F = decltype(f);
      auto* sum = static_cast<typename T::bits*>(to);
      const auto* more = static_cast<const typename F::bits*>(from);
      for (int64_t i = 0; i < count; ++i) sum[i] = T::round(T::widen(sum[i]) + F::widen(more[i]));
    });
  });
}

}  // namespace sy::cpu
