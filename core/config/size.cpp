#include "config/size.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <limits>
#include <optional>

namespace switchyard {
namespace {

constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

struct Unit {
  const char* name;
  std::int64_t bytes;
};
constexpr std::array<Unit, 12> units{{{"B", 1},
                                      {"KiB", std::int64_t{1} << 10},
                                      {"MiB", std::int64_t{1} << 20},
                                      {"GiB", std::int64_t{1} << 30},
                                      {"TiB", std::int64_t{1} << 40},
                                      {"PiB", std::int64_t{1} << 50},
                                      {"kB", 1000},
                                      {"KB", 1000},
                                      {"MB", 1000000},
                                      {"GB", 1000000000},
                                      {"TB", 1000000000000},
                                      {"PB", 1000000000000000}}};
constexpr const char* unit_names = "B, KiB, MiB, GiB, TiB, PiB (1024) or kB, MB, GB, TB, PB (1000)";

std::optional<std::int64_t> unit_bytes(const std::string& name) {
  for (const Unit& unit : units)
    if (name == unit.name) return unit.bytes;
  return std::nullopt;
}

/// digits / 10^places x unit; nothing when it is no whole number of bytes or too large.
std::optional<std::int64_t> scaled(const std::string& digits, std::size_t places, std::int64_t unit) {
  unsigned __int128 number = 0;
  for (char digit : digits) {
    number = number * 10 + static_cast<unsigned>(digit - '0');
    if (number > static_cast<unsigned __int128>(most) * 1000) return std::nullopt;
  }
  number *= static_cast<unsigned __int128>(unit);
  for (; places > 0; --places) {
    if (number % 10 != 0) return std::nullopt;
    number /= 10;
  }
  if (number > static_cast<unsigned __int128>(most)) return std::nullopt;
  return static_cast<std::int64_t>(number);
}

std::string unit_hint(const std::string& number, std::string unit) {
  if (unit.empty()) return "the unit is missing; write \"" + number + "GiB\", or bytes as an integer";
  char letter = static_cast<char>(std::toupper(static_cast<unsigned char>(unit[0])));
  std::string hint = std::string("unknown unit '") + unit + "'; known: " + unit_names;
  if (std::string("KMGTP").find(letter) != std::string::npos)
    hint = "unknown unit '" + unit + "'; did you mean \"" + number + letter + "iB\" or \"" + number +
           (letter == 'K' ? 'k' : letter) + "B\"?";
  return hint;
}

}  // namespace

std::int64_t parse_size(const std::string& text, const Place& place, const std::string& what) {
  auto fail = [&](const std::string& why) {
    return Error(SY_E_CONFIG, place, what + ": \"" + on_one_line(text) + "\": " + on_one_line(why));
  };
  std::size_t end = text.find_first_not_of("0123456789.");
  std::string number = text.substr(0, end);
  std::string unit = end == std::string::npos ? "" : text.substr(end);
  unit.erase(0, std::min(unit.find_first_not_of(' '), unit.size()));
  while (!unit.empty() && unit.back() == ' ') unit.pop_back();

  std::size_t point = number.find('.');
  std::string digits = number;
  if (point != std::string::npos) digits.erase(point, 1);
  bool well_formed =
      !digits.empty() && digits.find('.') == std::string::npos && number.front() != '.' && number.back() != '.';
  if (!well_formed) throw fail("wanted a size such as \"22GiB\", or bytes as an integer");
  auto bytes_of_unit = unit_bytes(unit);
  if (!bytes_of_unit) throw fail(unit_hint(number, unit));
  auto bytes = scaled(digits, point == std::string::npos ? 0 : digits.size() - point, *bytes_of_unit);
  if (!bytes) throw fail("not a whole number of bytes below 2^63");
  if (*bytes == 0) throw fail("must be more than 0 bytes");
  return *bytes;
}

std::int64_t size_of_value(const Value& value, const std::string& what) {
  if (value.is(Value::Kind::string)) return parse_size(value.string(), value.place, what);
  if (!value.is(Value::Kind::integer))
    throw Error(SY_E_CONFIG, value.place,
                what + ": wanted a size such as \"22GiB\", or bytes as an integer; found " + kind_name(value.kind()));
  if (value.integer() <= 0)
    throw Error(SY_E_CONFIG, value.place,
                what + ": wanted more than 0 bytes, found " + std::to_string(value.integer()));
  return value.integer();
}

std::string print_size(std::int64_t bytes) {
  static constexpr const char* names[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  double amount = static_cast<double>(bytes);
  std::size_t unit = 0;
  // 1023.5 of a unit would be printed as 1024 of it.
  while (std::fabs(amount) >= (unit == 0 ? 1024 : 1023.5) && unit + 1 < std::size(names)) {
    amount /= 1024;
    ++unit;
  }
  bool fraction = unit > 0 && std::fabs(amount) < 9.95 && std::fmod(std::round(amount * 10), 10) != 0;
  char text[64];
  std::snprintf(text, sizeof text, fraction ? "%.1f %s" : "%.0f %s", amount, names[unit]);
  return text;
}

}  // namespace switchyard
