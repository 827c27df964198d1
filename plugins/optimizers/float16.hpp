// fp32 to and from the 16-bit float types, without branches that would keep a loop from being vectorised. Rounding is
// to nearest, ties to even; too large becomes infinity, NaN stays a quiet NaN, subnormals are kept.
#pragma once

#include <bit>
#include <cstdint>

namespace sy::opt {

inline float from_bf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

inline uint16_t to_bf16(float value) {
  const auto u = std::bit_cast<uint32_t>(value);
  const uint32_t rounded = (u + 0x7FFFu + ((u >> 16) & 1u)) >> 16;
  const uint32_t quiet = (u >> 16) | 0x40u;
  return static_cast<uint16_t>((u & 0x7FFFFFFFu) > 0x7F800000u ? quiet : rounded);
}

inline uint16_t to_f16(float value) {
  const auto u = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (u >> 16) & 0x8000u, magnitude = u & 0x7FFFFFFFu;
  const uint32_t normal = (magnitude + 0xFFFu + ((magnitude >> 13) & 1u) - 0x38000000u) >> 13;
  // The unit of 0.5f in the last place is 2^-24, the smallest subnormal.
  const float shifted = std::bit_cast<float>(magnitude < 0x38800000u ? magnitude : 0u) + 0.5f;
  const uint32_t subnormal = std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f);
  uint32_t half = magnitude < 0x38800000u ? subnormal : normal;
  half = magnitude >= 0x477FF000u ? 0x7C00u : half;  // 65520 and above round to infinity
  half = magnitude > 0x7F800000u ? 0x7E00u : half;
  return static_cast<uint16_t>(sign | half);
}

}  // namespace sy::opt
