// Made-up batches for any model: for comparing and measuring, where no data are needed.
#pragma once

#include <cstdint>

#include "data/source.hpp"
#include "model/model.hpp"

namespace switchyard {

/// Ids are uniform below what the layers know, numbers are standard normal: a pure function of (seed, step, row).
/// Error SY_E_CONFIG: the model takes ids and no layer says how many there are.
Batch random_batch(Model& model, std::int64_t rows, std::uint64_t seed, std::int64_t step);

}  // namespace switchyard
