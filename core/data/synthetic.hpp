// Made-up tokens, for tests and benchmarks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "data/source.hpp"

namespace switchyard {

/// Windows of ids drawn uniformly below `vocabulary`: a pure function of (seed, stream, sample). Targets are one token
/// later. There are 2^40 samples. Two streams share no window.
std::unique_ptr<DataSource> make_synthetic_tokens(std::int64_t vocabulary, std::int64_t context, std::uint64_t seed,
                                                  const std::string& stream);

}  // namespace switchyard
