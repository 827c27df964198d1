#include "data/sample_order.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "switchyard/random.h"

namespace switchyard {
namespace {

/// Number `index` of the stream `row`, uniform in 0 .. n - 1.
std::int64_t draw(std::uint64_t seed, std::uint32_t row, std::int64_t index, std::int64_t n) {
  std::uint32_t key[2], words[4];
  sy_random_key(seed, sy_hash_name("data.order"), key);
  sy_random_block(key, 0, row, static_cast<std::uint64_t>(index) * 4, words);
  return static_cast<std::int64_t>(sy_random_below(words[0], words[1], static_cast<std::uint64_t>(n)));
}

}  // namespace

SampleOrder SampleOrder::create(const OrderOptions& options) {
  const SampleOrder order(options);
  const std::int64_t need = options.drop_last && options.kind != OrderKind::drawn ? options.batch : 1;
  if (options.batch < 1) throw Error(SY_E_CONFIG, "a batch has at least one sample");
  if (order.items() < need)
    throw Error(SY_E_CONFIG, "the training part gives " + std::to_string(order.items()) + " samples, need >= " +
                                 std::to_string(need) + " (train.batch); data.drop_last = false takes a smaller batch");
  return order;
}

/// What an epoch goes through.
std::int64_t SampleOrder::items() const {
  return options_.kind == OrderKind::given ? (options_.samples + options_.stride - 1) / options_.stride
                                           : options_.samples;
}

std::int64_t SampleOrder::steps_per_epoch() const {
  if (options_.kind == OrderKind::drawn) return 0;
  return options_.drop_last ? items() / options_.batch : (items() + options_.batch - 1) / options_.batch;
}

std::int64_t SampleOrder::size_of(std::int64_t step) const {
  if (options_.kind == OrderKind::drawn) return options_.batch;
  const std::int64_t first = (step - 1) % steps_per_epoch() * options_.batch;
  return std::min(options_.batch, items() - first);
}

std::vector<std::int64_t> SampleOrder::step(std::int64_t step) {
  std::vector<std::int64_t> samples(static_cast<std::size_t>(size_of(step)));
  if (options_.kind == OrderKind::drawn) {
    const std::int64_t before = (step - 1) * options_.batch;
    for (std::size_t i = 0; i < samples.size(); ++i)
      samples[i] = draw(options_.seed, 0, before + static_cast<std::int64_t>(i), options_.samples);
    return samples;
  }
  const std::int64_t epoch = (step - 1) / steps_per_epoch();
  const std::int64_t first = (step - 1) % steps_per_epoch() * options_.batch;
  if (options_.kind == OrderKind::permuted) {
    std::copy_n(permutation(epoch).begin() + first, samples.size(), samples.begin());
    return samples;
  }
  for (std::size_t i = 0; i < samples.size(); ++i)
    samples[i] = (first + static_cast<std::int64_t>(i)) * options_.stride;
  return samples;
}

/// Fisher and Yates, each swap drawn from (seed, epoch, position).
const std::vector<std::int64_t>& SampleOrder::permutation(std::int64_t epoch) {
  if (epoch == epoch_) return permutation_;
  permutation_.resize(static_cast<std::size_t>(items()));
  std::iota(permutation_.begin(), permutation_.end(), std::int64_t{0});
  for (std::int64_t i = items() - 1; i > 0; --i)
    std::swap(permutation_[i], permutation_[draw(options_.seed, static_cast<std::uint32_t>(epoch), i, i + 1)]);
  epoch_ = epoch;
  return permutation_;
}

}  // namespace switchyard
