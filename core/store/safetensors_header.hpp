// The header of a safetensors file, read without trusting it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.hpp"

namespace switchyard {

/// One tensor of a file.
struct TensorInfo {
  std::string name;
  sy_dtype dtype{};
  std::vector<std::int64_t> shape;  // empty: a scalar
  std::uint64_t begin = 0;          // its first byte, counted from the start of the data
  std::uint64_t bytes = 0;
};

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // sorted by begin
  std::map<std::string, std::string> metadata;
  std::uint64_t data_begin = 0;  // offset of the data in the file
};

/// The longest header that is read, as the format says: 100 MB.
inline constexpr std::uint64_t longest_safetensors_header = 100'000'000;

/// Parses the header of a file that is wholly in memory (or mapped). Every failure is SY_E_DATA: "file: reason", the
/// reason naming the tensor where there is one. Refused: a length that passes the file or the cap (before anything is
/// allocated), JSON that is broken or of another form, doubled keys, unknown types, dimensions that are negative or
/// whose product overflows, offsets that are reversed, out of range, overlapping, leave a hole, or do not fit type and
/// shape.
SafetensorsHeader parse_safetensors_header(std::span<const std::byte> file, const std::string& path);

/// The bytes of a file up to its data: length, JSON, blanks. `tensors` has the final order and offsets.
std::string make_safetensors_header(const std::vector<TensorInfo>& tensors,
                                    const std::map<std::string, std::string>& metadata);

}  // namespace switchyard
