#include "model/initial.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cmath>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "switchyard/random.h"

namespace switchyard {

namespace {

double number_in(const std::string& text, std::size_t from) {
  double value = 0;
  const char* end = text.data() + text.size() - 1;
  const auto [stop, code] = std::from_chars(text.data() + from, end, value);
  if (code != std::errc() || stop != end || !std::isfinite(value))
    throw Error(SY_E_CONFIG, "init \"" + text + "\": a number is missing between the brackets");
  return value;
}

}  // namespace

Distribution Distribution::parse(const std::string& text) {
  if (text == "zeros") return {Kind::constant, 0};
  if (text == "ones") return {Kind::constant, 1};
  const auto starts = [&](const char* word) { return text.starts_with(word) && text.ends_with(')'); };
  if (starts("constant(")) return {Kind::constant, number_in(text, 9)};
  if (starts("normal(") && number_in(text, 7) >= 0) return {Kind::normal, number_in(text, 7)};
  if (starts("uniform(") && number_in(text, 8) >= 0) return {Kind::uniform, number_in(text, 8)};
  throw Error(SY_E_CONFIG, "init \"" + text +
                               "\" is no distribution; write \"zeros\", \"ones\", \"constant(x)\", \"normal(std)\" or "
                               "\"uniform(bound)\"");
}

namespace {

/// Elements `first` ... of the parameter; first is a multiple of 4.
void draw_part(const Distribution& from, const uint32_t key[2], std::size_t first, std::span<float> out) {
  for (std::size_t begin = 0; begin < out.size(); begin += 4) {
    uint32_t words[4];
    sy_random_block(key, 0, 0, first + begin, words);
    double drawn[4];
    if (from.kind == Distribution::Kind::normal)
      sy_normal4(words, drawn);
    else
      for (int i = 0; i < 4; ++i) drawn[i] = 2.0 * static_cast<double>(sy_uniform(words[i])) - 1.0;
    for (std::size_t i = 0; i < 4 && begin + i < out.size(); ++i)
      out[begin + i] = static_cast<float>(drawn[i] * from.value);
  }
}

}  // namespace

void draw_initial(const Distribution& from, uint64_t seed, const std::string& full_name, std::span<float> out) {
  if (from.kind == Distribution::Kind::constant) {
    std::fill(out.begin(), out.end(), static_cast<float>(from.value));
    return;
  }
  uint32_t key[2];
  sy_random_key(seed, sy_hash_name(full_name.c_str()), key);
  constexpr std::size_t part = std::size_t{1} << 18;
  std::atomic<std::size_t> next = 0;
  const auto draw_parts = [&] {
    for (std::size_t first = next.fetch_add(part); first < out.size(); first = next.fetch_add(part))
      draw_part(from, key, first, out.subspan(first, std::min(part, out.size() - first)));
  };
  std::vector<std::jthread> others;
  for (std::size_t i = part; i < out.size() && others.size() + 1 < std::thread::hardware_concurrency(); i += part)
    others.emplace_back(draw_parts);
  draw_parts();
}

}  // namespace switchyard
