// SHA-256 (FIPS 180-4) of bytes, as lower-case digits.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace switchyard {

std::string sha256(std::span<const std::byte> bytes);
inline std::string sha256(std::string_view text) { return sha256(std::as_bytes(std::span(text.data(), text.size()))); }

}  // namespace switchyard
