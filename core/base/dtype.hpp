// Element types: names, sizes, and conversion between the float types on the host.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "switchyard/base.h"

/// In the global namespace, where sy_dtype lives, so that argument-dependent lookup finds it.
constexpr bool operator==(sy_dtype a, sy_dtype b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }

namespace switchyard {

namespace dtype {
inline constexpr sy_dtype f64{SY_FLOAT, 64, 1};
inline constexpr sy_dtype f32{SY_FLOAT, 32, 1};
inline constexpr sy_dtype f16{SY_FLOAT, 16, 1};
inline constexpr sy_dtype bf16{SY_BFLOAT, 16, 1};
inline constexpr sy_dtype i64{SY_INT, 64, 1};
inline constexpr sy_dtype i32{SY_INT, 32, 1};
inline constexpr sy_dtype i16{SY_INT, 16, 1};
inline constexpr sy_dtype i8{SY_INT, 8, 1};
inline constexpr sy_dtype u8{SY_UINT, 8, 1};
inline constexpr sy_dtype boolean{SY_BOOL, 8, 1};
}  // namespace dtype

/// One of the ten types above?
bool is_known(sy_dtype type);
/// fp64, fp32, fp16 or bf16?
bool is_float(sy_dtype type);
/// int64, int32, int16, int8 or uint8?
bool is_integer(sy_dtype type);
/// Bytes of one element (a bool takes one); lanes count.
std::size_t dtype_bytes(sy_dtype type);

/// "fp64", "fp32", "fp16", "bf16", "int64", "int32", "int16", "int8", "uint8", "bool"; others as "code 2, 8 bits".
std::string dtype_name(sy_dtype type);
/// The type of such a name; nothing for any other text.
std::optional<sy_dtype> dtype_from_name(std::string_view name);
/// The name in a safetensors file ("F32"); nullptr for a type that has none.
const char* safetensors_name(sy_dtype type);
std::optional<sy_dtype> dtype_from_safetensors(std::string_view name);

/// "[3, 32, 32]"; "[]" for a scalar.
std::string shape_text(std::span<const std::int64_t> shape);
/// The product of the dimensions (1 for a scalar). Nothing when a dimension is negative, or when the product of those
/// that are not 0 passes 2^63 - 1, so that strides cannot overflow either.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);
/// element_count times the element's bytes; nothing where that overflows.
std::optional<std::int64_t> byte_count(std::span<const std::int64_t> shape, sy_dtype type);

/// One value, rounded to nearest, ties to even. Too large becomes infinity; NaN stays NaN (quiet); subnormals are kept.
std::uint16_t f32_to_bf16(float value);
std::uint16_t f32_to_f16(float value);
float bf16_to_f32(std::uint16_t bits);
float f16_to_f32(std::uint16_t bits);

/// Converts `count` elements between any two of fp64, fp32, fp16, bf16 with one rounding (to nearest, ties to even), or
/// copies between equal types of any kind. The two blocks need no alignment and must not overlap.
/// Error SY_E_ARGUMENT: another pair of types.
void convert(const void* from, sy_dtype from_type, void* to, sy_dtype to_type, std::size_t count);

}  // namespace switchyard
