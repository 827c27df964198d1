#include "../drop.hpp"

#include "numbers.hpp"
#include "switchyard/random.h"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

constexpr int blocks_at_once = 16;
constexpr int words_at_once = 4 * blocks_at_once;

/// The words of elements first .. first + 63 of a sample (first a multiple of 4), as sy_random_block gives them.
SY_INLINE void draw(const drawing& from, uint32_t sample, uint64_t first, uint32_t* words) {
  uint32_t c0[blocks_at_once], c1[blocks_at_once], c2[blocks_at_once], c3[blocks_at_once];
  for (int j = 0; j < blocks_at_once; ++j) {
    const uint64_t block = (first >> 2) + static_cast<uint64_t>(j);
    c0[j] = from.step, c1[j] = sample;
    c2[j] = static_cast<uint32_t>(block), c3[j] = static_cast<uint32_t>(block >> 32);
  }
  uint32_t k0 = from.key[0], k1 = from.key[1];
  for (int round = 0; round < 10; ++round, k0 += 0x9E3779B9u, k1 += 0xBB67AE85u)
    for (int j = 0; j < blocks_at_once; ++j) {
      const uint64_t p0 = uint64_t{0xD2511F53u} * c0[j], p1 = uint64_t{0xCD9E8D57u} * c2[j];
      c0[j] = static_cast<uint32_t>(p1 >> 32) ^ c1[j] ^ k0;
      c2[j] = static_cast<uint32_t>(p0 >> 32) ^ c3[j] ^ k1;
      c1[j] = static_cast<uint32_t>(p1);
      c3[j] = static_cast<uint32_t>(p0);
    }
  for (int j = 0; j < blocks_at_once; ++j)
    words[4 * j] = c0[j], words[4 * j + 1] = c1[j], words[4 * j + 2] = c2[j], words[4 * j + 3] = c3[j];
}

/// 1 / (1 - p) for elements that stay, 0 for those that go.
template <class W>
SY_INLINE void factors(const uint32_t* words, uint64_t threshold, W scale, W* to) {
  for (int j = 0; j < words_at_once; ++j) to[j] = words[j] < threshold ? W(0) : scale;
}

}  // namespace

void drop(const lane& on, sy_dtype type, int64_t samples, int64_t per_sample, const drawing& from, const void* x,
          const void* more, void* y) {
  const uint64_t threshold = sy_drop_threshold(from.probability);
  const int64_t chunks = (per_sample + words_at_once - 1) / words_at_once;
  with_type(type, [&](auto t) {
    using T = decltype(t);
    using W = wide_t<T>;
    const T *in = static_cast<const T*>(x), *add = static_cast<const T*>(more);
    const W scale = static_cast<W>(from.probability < 1 ? 1 / (1 - from.probability) : 0);
    each(on, samples * chunks, 128, [&](int64_t begin, int64_t end) {
      for (int64_t k = begin; k < end; ++k) {
        const int64_t sample = k / chunks, first = k % chunks * words_at_once;
        const int64_t at = sample * per_sample + first;
        uint32_t words[words_at_once];
        W factor[words_at_once];
        draw(from, static_cast<uint32_t>(from.first_sample + sample), static_cast<uint64_t>(first), words);
        factors(words, threshold, scale, factor);
        by_lanes<W>(std::min<int64_t>(words_at_once, per_sample - first), [&](int64_t i, int m) {
          const numbers<W> f = load(static_cast<const W*>(factor) + i);
          numbers<W> v = numbers<W>::each([](auto a, auto b) { return b > 0 ? a * b : b; }, load(in + at + i, m), f);
          if (add) v += load(add + at + i, m);
          store(static_cast<T*>(y) + at + i, v, m);
        });
      }
    });
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
