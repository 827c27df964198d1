#include "switchyard/random.h"

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

namespace {

using Block = std::array<std::uint32_t, 4>;

Block philox(Block counter, std::array<std::uint32_t, 2> key) {
  Block out{};
  sy_philox4x32(counter.data(), key.data(), out.data());
  return out;
}

std::array<std::uint32_t, 2> key_of(std::uint64_t seed, const char* name) {
  std::array<std::uint32_t, 2> key{};
  sy_random_key(seed, sy_hash_name(name), key.data());
  return key;
}

}  // namespace

TEST_CASE("philox gives the published vectors of Random123") {
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  const std::uint32_t ones = 0xffffffff;
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("a block may replace its counter") {
  Block counter{};
  const std::array<std::uint32_t, 2> key{};
  sy_philox4x32(counter.data(), key.data(), counter.data());
  CHECK(counter == Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
}

TEST_CASE("names hash as FNV-1a, seeds mix as splitmix64") {
  CHECK(sy_hash_name("") == 0xcbf29ce484222325u);
  CHECK(sy_hash_name("a") == 0xaf63dc4c8601ec8cu);
  CHECK(sy_hash_name("foobar") == 0x85944171f73967e8u);
  CHECK(sy_mix64(0) == 0xe220a8397b1dcdafu);
  const auto key = key_of(0, "");
  CHECK(((std::uint64_t{key[1]} << 32) | key[0]) == (0xe220a8397b1dcdafu ^ 0xcbf29ce484222325u));
}

TEST_CASE("keys differ between names and between seeds") {
  std::set<std::array<std::uint32_t, 2>> keys;
  for (std::uint64_t seed = 0; seed < 100; ++seed)
    for (const char* name : {"h.0.attn", "h.1.attn", "h.10.attn", "head"}) keys.insert(key_of(seed, name));
  CHECK(keys.size() == 400);
}

TEST_CASE("four neighbouring elements share a block, whose counter is (step, sample, element / 4)") {
  const auto key = key_of(5, "drop");
  const auto block = [&](std::uint32_t step, std::uint32_t sample, std::uint64_t element) {
    Block out{};
    sy_random_block(key.data(), step, sample, element, out.data());
    return out;
  };
  CHECK(block(2, 3, 8) == philox({2, 3, 2, 0}, key));
  CHECK(block(2, 3, 11) == block(2, 3, 8));
  CHECK(block(2, 3, 12) != block(2, 3, 8));
  CHECK(block(1, 1, (std::uint64_t{1} << 34) + 4) == philox({1, 1, 1, 1}, key));
}

TEST_CASE("uniform numbers stay below 1") {
  CHECK(sy_uniform(0) == 0.0f);
  CHECK(sy_uniform(0xFFFFFFFF) == 1.0f - 0x1p-24f);
  CHECK(sy_uniform(0x80000000) == 0.5f);
  CHECK(sy_uniform(0x1FF) == 0x1p-24f);
}

TEST_CASE("a number below n is the high part of a 128-bit product") {
  const std::uint32_t ones = 0xFFFFFFFF;
  CHECK(sy_random_below(0, 0, 7) == 0);
  CHECK(sy_random_below(ones, ones, 7) == 6);
  CHECK(sy_random_below(0x80000000, 0, 10) == 5);
  CHECK(sy_random_below(ones, ones, ~std::uint64_t{0}) == ~std::uint64_t{0} - 1);
  std::uint64_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t a = sy_mix64(state++), n = sy_mix64(state++) >> (i % 64) | 1;
    const auto wide = static_cast<unsigned __int128>(a) * n;
    REQUIRE(sy_random_below(static_cast<std::uint32_t>(a >> 32), static_cast<std::uint32_t>(a), n) ==
            static_cast<std::uint64_t>(wide >> 64));
  }
}

TEST_CASE("normals have the moments of a standard normal") {
  const auto key = key_of(1, "w");
  double sum = 0, squares = 0, fourths = 0, products = 0;
  const int count = 400000;
  for (int i = 0; i < count; i += 4) {
    Block words{};
    std::array<double, 4> x{};
    sy_random_block(key.data(), 0, 0, static_cast<std::uint64_t>(i), words.data());
    sy_normal4(words.data(), x.data());
    for (const double value : x) {
      sum += value;
      squares += value * value;
      fourths += value * value * value * value;
    }
    products += x[0] * x[1] + x[2] * x[3];
  }
  CHECK(std::abs(sum / count) < 0.006);
  CHECK(std::abs(squares / count - 1) < 0.01);
  CHECK(std::abs(fourths / count - 3) < 0.06);
  CHECK(std::abs(products / count) < 0.006);
}

TEST_CASE("normals are finite at the ends of the words") {
  for (const std::uint32_t word : {0u, 0xFFFFFFFFu}) {
    const Block words{word, word, word, 0};
    std::array<double, 4> x{};
    sy_normal4(words.data(), x.data());
    for (const double value : x) CHECK(std::abs(value) < 6.68);
  }
}

TEST_CASE("the drop threshold is an integer that holds at both ends") {
  CHECK(sy_drop_threshold(0.0) == 0);
  CHECK(sy_drop_threshold(-1.0) == 0);
  CHECK(sy_drop_threshold(std::nan("")) == 0);
  CHECK(sy_drop_threshold(0.5) == std::uint64_t{1} << 31);
  CHECK(sy_drop_threshold(1.0) == std::uint64_t{1} << 32);
  CHECK(sy_drop_threshold(2.0) == std::uint64_t{1} << 32);
  CHECK(!sy_dropped(0, sy_drop_threshold(0.0)));
  CHECK(sy_dropped(0xFFFFFFFF, sy_drop_threshold(1.0)));
  CHECK(sy_dropped(0x7FFFFFFF, sy_drop_threshold(0.5)));
  CHECK(!sy_dropped(0x80000000, sy_drop_threshold(0.5)));
}
