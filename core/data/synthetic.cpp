#include "data/synthetic.hpp"

#include "data/windows.hpp"
#include "switchyard/random.h"

namespace switchyard {
namespace {

class SyntheticTokens : public DataSource {
 public:
  SyntheticTokens(std::int64_t vocabulary, std::int64_t context, std::uint64_t seed, const std::string& stream)
      : vocabulary_(vocabulary), context_(context) {
    sy_random_key(seed, sy_hash_name(("data.synthetic." + stream).c_str()), key_);
  }

  std::int64_t samples() const override { return std::int64_t{1} << 40; }
  InputSpec inputs() const override { return {{context_}, id_dtype, vocabulary_}; }
  TargetSpec targets() const override { return {TargetKind::tokens, {context_}, id_dtype, vocabulary_, {}}; }

  void fill(std::span<const std::int64_t> samples, Batch& batch) const override {
    check_samples(samples, this->samples());
    fill_windows(samples, context_, batch, [&](std::int64_t sample, std::int64_t* to) { draw(sample, to); });
  }

 private:
  /// Two words for an id, so that any vocabulary is drawn evenly.
  void draw(std::int64_t sample, std::int64_t* to) const {
    const auto low = static_cast<std::uint32_t>(sample);
    const auto high = static_cast<std::uint32_t>(sample >> 32);
    for (std::int64_t i = 0; i <= context_; i += 2) {
      std::uint32_t words[4];
      sy_random_block(key_, high, low, static_cast<std::uint64_t>(i) * 2, words);
      to[i] = below(words);
      if (i < context_) to[i + 1] = below(words + 2);
    }
  }

  std::int64_t below(const std::uint32_t* words) const {
    return static_cast<std::int64_t>(sy_random_below(words[0], words[1], static_cast<std::uint64_t>(vocabulary_)));
  }

  std::int64_t vocabulary_;
  std::int64_t context_;
  std::uint32_t key_[2];
};

}  // namespace

std::unique_ptr<DataSource> make_synthetic_tokens(std::int64_t vocabulary, std::int64_t context, std::uint64_t seed,
                                                  const std::string& stream) {
  return std::make_unique<SyntheticTokens>(vocabulary, context, seed, stream);
}

}  // namespace switchyard
