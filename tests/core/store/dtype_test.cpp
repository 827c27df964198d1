#include "base/dtype.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "base/error.hpp"

using namespace switchyard;

namespace {

/// Rounds to a format of `digits` significand bits by arithmetic in double, as a reference: `smallest` is the exponent
/// of the smallest normal number, `largest` the largest finite value.
double rounded(double value, int digits, int smallest, double largest) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = 0;
  std::frexp(value, &exponent);  // value = m * 2^exponent, 0.5 <= m < 1
  const int last_bit = std::max(exponent - digits, smallest - digits + 1);
  const double result = std::ldexp(std::nearbyint(std::ldexp(value, -last_bit)), last_bit);
  return std::abs(result) > largest ? std::copysign(INFINITY, value) : result;
}

double to_f16(double value) { return rounded(value, 11, -14, 65504.0); }
double to_bf16(double value) { return rounded(value, 8, -126, 0x1.FEp127); }

template <class Out, class In>
Out converted(In value, sy_dtype from, sy_dtype to) {
  Out out{};
  convert(&value, from, &out, to, 1);
  return out;
}

}  // namespace

TEST_CASE("every 16-bit pattern survives the way to fp32 and back") {
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float as_f16 = f16_to_f32(half);
    const float as_bf16 = bf16_to_f32(half);
    if (std::isnan(as_f16))
      CHECK((f32_to_f16(as_f16) & 0x7FFF) > 0x7C00);
    else
      REQUIRE(f32_to_f16(as_f16) == half);
    if (std::isnan(as_bf16))
      CHECK((f32_to_bf16(as_bf16) & 0x7FFF) > 0x7F80);
    else
      REQUIRE(f32_to_bf16(as_bf16) == half);
  }
}

TEST_CASE("fp32 rounds to nearest, ties to even") {
  std::uint32_t bits = 0;
  for (int i = 0; i < 300000; ++i) {
    bits += 14321;  // a stride that meets every exponent
    const float value = std::bit_cast<float>(bits);
    if (std::isnan(value)) continue;
    REQUIRE(f16_to_f32(f32_to_f16(value)) == to_f16(value));
    REQUIRE(bf16_to_f32(f32_to_bf16(value)) == to_bf16(value));
  }
  CHECK(f32_to_bf16(0x1.01p0f) == 0x3F80);  // halfway, the even neighbour is below
  CHECK(f32_to_bf16(0x1.03p0f) == 0x3F82);  // halfway, the even neighbour is above
  CHECK(f32_to_f16(65519.996f) == 0x7BFF);
  CHECK(f32_to_f16(65520.0f) == 0x7C00);
  CHECK(f32_to_f16(-0x1p-25f) == 0x8000);     // half of the smallest: to even, to minus zero
  CHECK(f32_to_f16(0x1.8p-24f) == 0x0002);    // a tie between subnormals
  CHECK(f32_to_f16(0x1.FFFp-15f) == 0x0400);  // up into the normal numbers
  CHECK(f32_to_bf16(std::numeric_limits<float>::max()) == 0x7F80);
}

TEST_CASE("fp64 reaches 16 bits with one rounding") {
  const double above = 1.0 + 0x1p-8 + 0x1p-40;  // by way of fp32 the tail would be lost, and the tie would go down
  CHECK(bf16_to_f32(converted<std::uint16_t>(above, dtype::f64, dtype::bf16)) == 1.0f + 0x1p-7f);
  for (int i = -200; i < 200; ++i)
    for (double tail : {0.0, 0x1p-40, -0x1p-40}) {
      const double value = std::ldexp(1.0 + i * 0x1p-12 + tail, i);
      REQUIRE(bf16_to_f32(converted<std::uint16_t>(value, dtype::f64, dtype::bf16)) == to_bf16(value));
      REQUIRE(f16_to_f32(converted<std::uint16_t>(value, dtype::f64, dtype::f16)) == to_f16(value));
    }
}

TEST_CASE("conversion takes any alignment and equal types of any kind") {
  const std::vector<float> values = {1.5f, -0.0f, 3e38f, 1e-42f};
  std::vector<std::byte> source(1 + 16), target(3 + 32);
  std::memcpy(source.data() + 1, values.data(), 16);
  convert(source.data() + 1, dtype::f32, target.data() + 3, dtype::f64, 4);
  for (std::size_t i = 0; i < 4; ++i) {
    double wide = 0;
    std::memcpy(&wide, target.data() + 3 + 8 * i, 8);
    CHECK(wide == static_cast<double>(values[i]));
    CHECK(std::signbit(wide) == std::signbit(values[i]));
  }
  CHECK(converted<std::int64_t>(std::int64_t{-7}, dtype::i64, dtype::i64) == -7);
  CHECK(converted<float>(1e300, dtype::f64, dtype::f32) == INFINITY);
  CHECK_THROWS_AS(converted<float>(std::int64_t{1}, dtype::i64, dtype::f32), Error);
  CHECK_THROWS_AS(converted<std::int64_t>(1.0f, dtype::f32, dtype::i64), Error);
}

TEST_CASE("names lead to types and back") {
  for (sy_dtype type : {dtype::f64, dtype::f32, dtype::f16, dtype::bf16, dtype::i64, dtype::i32, dtype::i16, dtype::i8,
                        dtype::u8, dtype::boolean}) {
    CHECK(dtype_from_name(dtype_name(type)) == type);
    CHECK(dtype_from_safetensors(safetensors_name(type)) == type);
    CHECK(dtype_bytes(type) == type.bits / 8u);
  }
  CHECK(dtype_name(dtype::bf16) == "bf16");
  CHECK(std::string(safetensors_name(dtype::boolean)) == "BOOL");
  CHECK(!dtype_from_name("F32"));
  CHECK(!dtype_from_safetensors("F8_E4M3"));
  const sy_dtype odd{SY_UINT, 16, 2};
  CHECK(!is_known(odd));
  CHECK(safetensors_name(odd) == nullptr);
  CHECK(dtype_name(odd) == "code 1, 16 bits, 2 lanes");
  CHECK((is_float(dtype::bf16) && !is_float(dtype::u8) && is_integer(dtype::u8) && !is_integer(dtype::boolean)));
}

TEST_CASE("element counts notice every overflow") {
  using Shape = std::vector<std::int64_t>;
  const std::int64_t big = std::int64_t{1} << 40;
  CHECK(element_count(Shape{}) == 1);
  CHECK(element_count(Shape{2, 3}) == 6);
  CHECK(element_count(Shape{2, 0, 3}) == 0);
  CHECK(!element_count(Shape{big, big}));
  CHECK(!element_count(Shape{0, big, big}));
  CHECK(!element_count(Shape{std::int64_t{1} << 32, std::int64_t{1} << 32}));  // wraps to 0
  CHECK(!element_count(Shape{-1}));
  CHECK(byte_count(Shape{5}, dtype::f64) == 40);
  CHECK(!byte_count(Shape{std::int64_t{1} << 61}, dtype::f64));
  CHECK(shape_text(Shape{3, 32, 32}) == "[3, 32, 32]");
  CHECK(shape_text(Shape{}) == "[]");
}
