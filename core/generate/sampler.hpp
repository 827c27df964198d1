// One token from the scores of a position.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace switchyard {

struct SamplerOptions {
  double temperature = 1;  // 0: the likeliest token
  std::int64_t top_k = 0;  // only the likeliest so many; 0: all; more than there are: all
  double top_p = 1;        // of those only the likeliest whose shares reach this; 0: the likeliest
  std::uint64_t seed = 0;
  std::int64_t limit = 0;  // ids are 0 .. limit - 1 whatever the model's width; 0: its width
};

/// Pure: the same scores, options and position give the same id. [any]
class Sampler {
 public:
  /// Error SY_E_CONFIG naming the option: temperature negative or not finite, top_k negative, top_p outside 0 .. 1.
  static Sampler create(const SamplerOptions& options);

  /// An id for token number `position` (from 0) of the text that is generated, from one score per id. Equal scores: the
  /// lower id first. Error SY_E_DATA: a score that could be chosen is not finite (with its id).
  std::int64_t pick(std::span<const float> scores, std::uint64_t position) const;

 private:
  explicit Sampler(const SamplerOptions& options) : options_(options) {}
  std::int64_t draw(std::span<const float> scores, double u) const;
  SamplerOptions options_;
};

}  // namespace switchyard
