#include "config/size.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "refusal.hpp"

using namespace switchyard;

namespace {

std::int64_t bytes(const char* text) { return parse_size(text, {}, "memory"); }
std::string wrong(const char* text) {
  return refusal([&] { parse_size(text, {"f.toml", 2, 5}, "devices.memory"); });
}

}  // namespace

TEST_CASE("units of 1024 and of 1000") {
  CHECK(bytes("22GiB") == std::int64_t{22} << 30);
  CHECK(bytes("10GB") == 10000000000);
  CHECK(bytes("512 MiB") == std::int64_t{512} << 20);
  CHECK(bytes("4KiB") == 4096);
  CHECK(bytes("4kB") == 4000);
  CHECK(bytes("4KB") == 4000);
  CHECK(bytes("1TiB") == std::int64_t{1} << 40);
  CHECK(bytes("100B") == 100);
  CHECK(bytes("1.5GiB") == std::int64_t{3} << 29);
  CHECK(bytes("0.5 kB") == 500);
}

TEST_CASE("mistakes name the place and what to write") {
  CHECK_HOLDS(wrong("22"), "f.toml:2:5: devices.memory: \"22\": the unit is missing; write \"22GiB\"");
  CHECK_HOLDS(wrong("22G"), "did you mean \"22GiB\" or \"22GB\"?");
  CHECK_HOLDS(wrong("22gib"), "did you mean \"22GiB\" or \"22GB\"?");
  CHECK_HOLDS(wrong("22 bananas"), "unknown unit 'bananas'");
  CHECK_HOLDS(wrong("lots"), "wanted a size such as");
  CHECK_HOLDS(wrong(""), "wanted a size such as");
  CHECK_HOLDS(wrong("-1GiB"), "wanted a size such as");
  CHECK_HOLDS(wrong("1.2.3GiB"), "wanted a size such as");
  CHECK_HOLDS(wrong(".5GiB"), "wanted a size such as");
  CHECK_HOLDS(wrong("0GiB"), "more than 0 bytes");
  CHECK_HOLDS(wrong("0.3B"), "whole number of bytes");
  CHECK_HOLDS(wrong("0.1KiB"), "whole number of bytes");
}

TEST_CASE("sizes end below 2^63") {
  CHECK(bytes("8191PiB") == std::int64_t{8191} << 50);
  CHECK(bytes("9223372036854775807B") == std::numeric_limits<std::int64_t>::max());
  CHECK_HOLDS(wrong("8192PiB"), "below 2^63");
  CHECK_HOLDS(wrong("9223372036854775808B"), "below 2^63");
  CHECK_HOLDS(wrong("99999999999999999999999999999999999999999999PiB"), "below 2^63");
}

TEST_CASE("integers are bytes") {
  CHECK(size_of_value(Value(1024), "m") == 1024);
  CHECK(size_of_value(Value("1KiB"), "m") == 1024);
  CHECK_HOLDS(refusal([] { size_of_value(Value(0), "m"); }), "more than 0 bytes");
  CHECK_HOLDS(refusal([] { size_of_value(Value(-5), "m"); }), "found -5");
  CHECK_HOLDS(refusal([] { size_of_value(Value(1.0), "m"); }), "found a float");
}

TEST_CASE("sizes are printed for people") {
  CHECK(print_size(0) == "0 B");
  CHECK(print_size(17) == "17 B");
  CHECK(print_size(1023) == "1023 B");
  CHECK(print_size(1024) == "1 KiB");
  CHECK(print_size(std::int64_t{812} << 20) == "812 MiB");
  CHECK(print_size((std::int64_t{34} << 30) / 10) == "3.4 GiB");
  CHECK(print_size((std::int64_t{1} << 30) - 1) == "1 GiB");
  CHECK(print_size(std::int64_t{22} << 30) == "22 GiB");
  CHECK(print_size(-(std::int64_t{3} << 20)) == "-3 MiB");
  CHECK(print_size(std::numeric_limits<std::int64_t>::max()) == "8 EiB");
}
