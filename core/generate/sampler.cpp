#include "generate/sampler.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "base/error.hpp"
#include "switchyard/random.h"

namespace switchyard {
namespace {

[[noreturn]] void refuse(const char* option, double value, const char* wanted) {
  throw Error(SY_E_CONFIG, std::string(option) + " = " + std::to_string(value) + ": wanted " + wanted);
}

/// Uniform in [0, 1) from 53 bits: the token's own number, whatever was drawn before.
double uniform(std::uint64_t seed, std::uint64_t position) {
  std::uint32_t key[2], words[4];
  sy_random_key(seed, sy_hash_name("generate"), key);
  sy_random_block(key, 0, 0, position * 4, words);
  const std::uint64_t bits = (std::uint64_t{words[0]} << 32 | words[1]) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

void check_finite(std::span<const float> scores) {
  for (std::size_t id = 0; id < scores.size(); ++id)
    if (!std::isfinite(scores[id]))
      throw Error(SY_E_DATA, "the model's scores are not finite (" + std::to_string(scores[id]) + " for id " +
                                 std::to_string(id) + "): its weights or an activation overflowed");
}

std::int64_t likeliest(std::span<const float> scores) {
  return std::max_element(scores.begin(), scores.end()) - scores.begin();  // the first of equal ones
}

}  // namespace

Sampler Sampler::create(const SamplerOptions& options) {
  if (!(options.temperature >= 0) || std::isinf(options.temperature))
    refuse("generate.temperature", options.temperature, "0 (the likeliest token) or a finite number above it");
  if (options.top_k < 0)
    throw Error(SY_E_CONFIG,
                "generate.top_k = " + std::to_string(options.top_k) + ": wanted 0 (all) or a number above it");
  if (!(options.top_p >= 0 && options.top_p <= 1)) refuse("generate.top_p", options.top_p, "a share from 0 to 1");
  return Sampler(options);
}

std::int64_t Sampler::pick(std::span<const float> scores, std::uint64_t position) const {
  if (options_.limit > 0 && static_cast<std::uint64_t>(options_.limit) < scores.size())
    scores = scores.first(static_cast<std::size_t>(options_.limit));
  if (scores.empty()) throw Error(SY_E_INTERNAL, "no scores to pick a token from");
  check_finite(scores);
  if (options_.temperature == 0 || options_.top_k == 1 || options_.top_p == 0) return likeliest(scores);
  return draw(scores, uniform(options_.seed, position));
}

/// `u` in [0, 1) picks from the shares of the ids that top_k and top_p leave, the likeliest first. Without either, ids
/// stay in their own order and nothing is sorted.
std::int64_t Sampler::draw(std::span<const float> scores, double u) const {
  std::vector<std::int64_t> ids(scores.size());
  std::iota(ids.begin(), ids.end(), std::int64_t{0});
  const auto score = [&](std::int64_t id) { return scores[static_cast<std::size_t>(id)]; };
  const auto before = [&](std::int64_t a, std::int64_t b) {
    return score(a) != score(b) ? score(a) > score(b) : a < b;
  };
  const bool cut = options_.top_k > 0 && static_cast<std::size_t>(options_.top_k) < ids.size();
  if (cut || options_.top_p < 1) std::sort(ids.begin(), ids.end(), before);
  if (cut) ids.resize(static_cast<std::size_t>(options_.top_k));

  const double largest = score(likeliest(scores));
  std::vector<double> shares;  // not normalised
  double total = 0;
  for (const std::int64_t id : ids)
    total += shares.emplace_back(std::exp((score(id) - largest) / options_.temperature));
  if (options_.top_p < 1) {
    double sum = 0;
    std::size_t kept = 0;
    while (kept < ids.size() && sum < options_.top_p * total) sum += shares[kept++];
    ids.resize(std::max<std::size_t>(kept, 1));
    total = std::accumulate(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(ids.size()), 0.0);
  }
  double sum = 0;
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (sum += shares[i]; u * total < sum) return ids[i];
  return likeliest(scores);  // u * total is below the whole sum, so this is never reached
}

}  // namespace switchyard
