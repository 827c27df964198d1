// Amounts of memory: "22GiB" is 22 * 2^30 bytes, "10GB" is 10^10, an integer is bytes.
#pragma once

#include <cstdint>
#include <string>

#include "config/value.hpp"

namespace switchyard {

/// Bytes of a text such as "22GiB", "1.5 GB", "512KiB", "100B". Throws Error(SY_E_CONFIG) at `place` for a missing or
/// unknown unit, a fraction of a byte, zero, a negative amount, or more than 2^63 - 1 bytes; the text begins with
/// `what`.
std::int64_t parse_size(const std::string& text, const Place& place, const std::string& what);

/// The same for a string or an integer.
std::int64_t size_of_value(const Value& value, const std::string& what);

/// For people: "812 MiB", "3.4 GiB", "17 B"; one digit behind the point below 10.
std::string print_size(std::int64_t bytes);

}  // namespace switchyard
