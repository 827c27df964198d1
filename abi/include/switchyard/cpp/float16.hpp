// switchyard/cpp/float16.hpp - the two 16-bit float types as bits. Rounding is to nearest, ties to even; too large
// becomes infinity, NaN stays a quiet NaN, subnormals are kept. Relies on the default rounding mode.
#pragma once

#include <bit>
#include <cstdint>

namespace sy::float16 {

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t to_bf16(float value) {
  const auto u = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
  const uint32_t quiet = (u >> 16) | 0x40u;
  return static_cast<uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
}

inline float from_f16(uint16_t bits) {
  const uint32_t sign = (bits & 0x8000u) << 16, rest = bits & 0x7FFFu;
  if (rest >= 0x7C00u) return std::bit_cast<float>(sign | 0x7F800000u | (rest & 0x3FFu) << 13);
  // Exponent bias 15 against 127: read as a float the bits are 2^-112 of the value, subnormals included.
  const float magnitude = std::bit_cast<float>(rest << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(magnitude));
}

inline uint16_t to_f16(float value) {
  const auto u = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
  uint32_t half;
  if (magnitude > 0x7F800000u) {
    half = 0x7E00u | ((magnitude >> 13) & 0x3FFu);
  } else if (magnitude >= 0x477FF000u) {  // 65520 and above round to infinity
    half = 0x7C00u;
  } else if (magnitude >= 0x38800000u) {  // normal: 2^-14 and above
    half = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  } else {  // the unit of 0.5f in the last place is 2^-24, the smallest subnormal
    half = std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) - std::bit_cast<uint32_t>(0.5f);
  }
  return static_cast<uint16_t>(sign | half);
}

/// To fp32, rounded to odd: a second rounding to 16 bits then gives what one rounding would have given (Boldo and
/// Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
inline float to_odd(double value) {
  const float nearest = static_cast<float>(value);
  const double back = nearest;
  if (back == value || value != value) return nearest;
  auto bits = std::bit_cast<uint32_t>(nearest);
  const bool away_from_zero = (back > value) == (value > 0);
  if (away_from_zero) --bits;
  return std::bit_cast<float>(bits | 1u);
}

}  // namespace sy::float16
