#include "data/source.hpp"

#include "base/error.hpp"

namespace switchyard {

void check_samples(std::span<const std::int64_t> samples, std::int64_t count) {
  for (const std::int64_t sample : samples)
    if (sample < 0 || sample >= count)
      throw Error(SY_E_ARGUMENT,
                  "sample " + std::to_string(sample) + " is out of range: there are " + std::to_string(count));
}

}  // namespace switchyard
