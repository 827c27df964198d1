#pragma once

#include "kernels/drop.hpp"
#include "tensor.hpp"

namespace kernels {

struct Drop {
  int64_t samples, per_sample;
  drawing from{};
  int into;  // 1: y is x, 2: y is add
  Tensor x, more, y, x_before, more_before;

  Drop(int64_t samples, int64_t per_sample, sy_dtype type, double p, bool adds, int into = 0)
      : samples(samples), per_sample(per_sample), into(into), x(normal(type, samples * per_sample, 91)) {
    from = {{0, 0}, 5, 3, p};
    sy_random_key(11, sy_hash_name("h.3.residual"), from.key);
    if (adds) more = normal(type, samples * per_sample, 92);
    if (into == 0) y = Tensor(type, samples * per_sample);
    x_before = x, more_before = more;
  }
  Tensor& result() { return into == 1 ? x : into == 2 ? more : y; }
  void run(Place& place) {
    drop(place.on, x.type, samples, per_sample, from, place.at(x), place.at(more), place.at(result()));
  }
  std::vector<Output> outputs() { return {{"y", &result(), 2}}; }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> all;
    for (int64_t s = 0; s < samples; ++s)
      for (int64_t e = 0; e < per_sample; ++e) {
        uint32_t words[4];
        sy_random_block(from.key, from.step, static_cast<uint32_t>(from.first_sample + s), static_cast<uint64_t>(e),
                        words);
        const int64_t i = s * per_sample + e;
        const bool dropped = sy_dropped(words[e & 3], sy_drop_threshold(from.probability)) != 0;
        all.push_back((dropped ? 0 : x_before.at(i) / (1 - from.probability)) + (more.count ? more_before.at(i) : 0));
      }
    return {all};
  }
};

}  // namespace kernels
