#include "base/dtype.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace switchyard {
namespace {

struct Row {
  sy_dtype type;
  const char* name;
  const char* safetensors;
};

constexpr std::array<Row, 10> table{{{dtype::f64, "fp64", "F64"},
                                     {dtype::f32, "fp32", "F32"},
                                     {dtype::f16, "fp16", "F16"},
                                     {dtype::bf16, "bf16", "BF16"},
                                     {dtype::i64, "int64", "I64"},
                                     {dtype::i32, "int32", "I32"},
                                     {dtype::i16, "int16", "I16"},
                                     {dtype::i8, "int8", "I8"},
                                     {dtype::u8, "uint8", "U8"},
                                     {dtype::boolean, "bool", "BOOL"}}};

const Row* row_of(sy_dtype type) {
  for (const Row& row : table)
    if (row.type == type) return &row;
  return nullptr;
}

/// A double as the nearest float whose last bit says "inexact": rounding that once more, to at most 22 bits, gives what
/// rounding the double at once gives.
float narrow_to_odd(double value) {
  const float nearest = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(nearest) == value) return nearest;
  std::uint32_t bits = std::bit_cast<std::uint32_t>(nearest);
  if ((bits & 1) == 0) bits += std::abs(static_cast<double>(nearest)) > std::abs(value) ? -1 : 1;
  return std::bit_cast<float>(bits);
}

struct Fp64 {
  using Bits = double;
  static double wide(double value) { return value; }
  static double narrow(double value) { return value; }
};
struct Fp32 {
  using Bits = float;
  static float wide(float value) { return value; }
  static float narrow(double value) { return static_cast<float>(value); }
  static float narrow(float value) { return value; }
};
struct Fp16 {
  using Bits = std::uint16_t;
  static float wide(Bits bits) { return f16_to_f32(bits); }
  static Bits narrow(float value) { return f32_to_f16(value); }
  static Bits narrow(double value) { return f32_to_f16(narrow_to_odd(value)); }
};
struct Bf16 {
  using Bits = std::uint16_t;
  static float wide(Bits bits) { return bf16_to_f32(bits); }
  static Bits narrow(float value) { return f32_to_bf16(value); }
  static Bits narrow(double value) { return f32_to_bf16(narrow_to_odd(value)); }
};

template <class From, class To>
void convert_all(const void* from, void* to, std::size_t count) {
  const auto* source = static_cast<const std::byte*>(from);
  auto* target = static_cast<std::byte*>(to);
  for (std::size_t i = 0; i < count; ++i) {
    typename From::Bits in;
    std::memcpy(&in, source + i * sizeof(in), sizeof(in));
    const typename To::Bits out = To::narrow(From::wide(in));
    std::memcpy(target + i * sizeof(out), &out, sizeof(out));
  }
}

template <class From>
bool convert_from(const void* from, void* to, sy_dtype to_type, std::size_t count) {
  if (to_type == dtype::f64)
    convert_all<From, Fp64>(from, to, count);
  else if (to_type == dtype::f32)
    convert_all<From, Fp32>(from, to, count);
  else if (to_type == dtype::f16)
    convert_all<From, Fp16>(from, to, count);
  else if (to_type == dtype::bf16)
    convert_all<From, Bf16>(from, to, count);
  else
    return false;
  return true;
}

bool convert_any(const void* from, sy_dtype from_type, void* to, sy_dtype to_type, std::size_t count) {
  if (from_type == dtype::f64) return convert_from<Fp64>(from, to, to_type, count);
  if (from_type == dtype::f32) return convert_from<Fp32>(from, to, to_type, count);
  if (from_type == dtype::f16) return convert_from<Fp16>(from, to, to_type, count);
  if (from_type == dtype::bf16) return convert_from<Bf16>(from, to, to_type, count);
  return false;
}

}  // namespace

bool is_known(sy_dtype type) { return row_of(type) != nullptr; }

bool is_float(sy_dtype type) {
  return type == dtype::f64 || type == dtype::f32 || type == dtype::f16 || type == dtype::bf16;
}

bool is_integer(sy_dtype type) {
  return type == dtype::i64 || type == dtype::i32 || type == dtype::i16 || type == dtype::i8 || type == dtype::u8;
}

std::size_t dtype_bytes(sy_dtype type) { return (static_cast<std::size_t>(type.bits) * type.lanes + 7) / 8; }

std::string dtype_name(sy_dtype type) {
  if (const Row* row = row_of(type)) return row->name;
  std::string text = "code " + std::to_string(type.code) + ", " + std::to_string(type.bits) + " bits";
  if (type.lanes != 1) text += ", " + std::to_string(type.lanes) + " lanes";
  return text;
}

std::optional<sy_dtype> dtype_from_name(std::string_view name) {
  for (const Row& row : table)
    if (name == row.name) return row.type;
  return std::nullopt;
}

const char* safetensors_name(sy_dtype type) {
  const Row* row = row_of(type);
  return row ? row->safetensors : nullptr;
}

std::optional<sy_dtype> dtype_from_safetensors(std::string_view name) {
  for (const Row& row : table)
    if (name == row.safetensors) return row.type;
  return std::nullopt;
}

std::string shape_text(std::span<const std::int64_t> shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  std::int64_t product = 1;
  bool empty = false;
  for (std::int64_t dimension : shape) {
    if (dimension < 0) return std::nullopt;
    if (dimension == 0)
      empty = true;
    else if (__builtin_mul_overflow(product, dimension, &product))
      return std::nullopt;
  }
  return empty ? 0 : product;
}

std::optional<std::int64_t> byte_count(std::span<const std::int64_t> shape, sy_dtype type) {
  const auto count = element_count(shape);
  std::int64_t bytes = 0;
  if (!count || __builtin_mul_overflow(*count, static_cast<std::int64_t>(dtype_bytes(type)), &bytes))
    return std::nullopt;
  return bytes;
}

std::uint16_t f32_to_bf16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>((bits >> 16) | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}

float bf16_to_f32(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

std::uint16_t f32_to_f16(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000);
  const std::uint32_t magnitude = bits & 0x7FFFFFFF;
  if (magnitude > 0x7F800000) return static_cast<std::uint16_t>(sign | 0x7E00 | ((magnitude >> 13) & 0x3FF));
  if (magnitude >= 0x47800000) return sign | 0x7C00;  // 2^16 and above
  if (magnitude < 0x38800000) {                       // below 2^-14: subnormal, a multiple of 2^-24
    const float grid = 0.5f;                          // in [0.5, 1) the last bit of a float is worth 2^-24
    const float sum = std::bit_cast<float>(magnitude) + grid;
    return static_cast<std::uint16_t>(sign | (std::bit_cast<std::uint32_t>(sum) - std::bit_cast<std::uint32_t>(grid)));
  }
  const std::uint32_t rebased = magnitude - (112u << 23);  // exponent bias 127 -> 15; a carry may end in infinity
  return static_cast<std::uint16_t>(sign | ((rebased + 0xFFF + ((rebased >> 13) & 1)) >> 13));
}

float f16_to_f32(std::uint16_t bits) {
  const std::uint32_t sign = static_cast<std::uint32_t>(bits & 0x8000) << 16;
  const std::uint32_t exponent = (bits >> 10) & 0x1F;
  const std::uint32_t fraction = bits & 0x3FF;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t rebased = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | (rebased << 23) | (fraction << 13));
}

void convert(const void* from, sy_dtype from_type, void* to, sy_dtype to_type, std::size_t count) {
  if (count == 0) return;
  if (from_type == to_type)
    std::memcpy(to, from, count * dtype_bytes(from_type));
  else if (!convert_any(from, from_type, to, to_type, count))
    throw Error(SY_E_ARGUMENT, "cannot convert " + dtype_name(from_type) + " to " + dtype_name(to_type));
}

}  // namespace switchyard
