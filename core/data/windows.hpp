// Batches of token windows: inputs [rows, context], targets the same, one token later.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

#include "data/source.hpp"

namespace switchyard {

/// Fills `batch` from read(sample, to), which writes context + 1 ids of a sample.
template <class Read>
void fill_windows(std::span<const std::int64_t> samples, std::int64_t context, Batch& batch, Read read) {
  const auto rows = static_cast<std::int64_t>(samples.size());
  batch.samples.assign(samples.begin(), samples.end());
  batch.inputs.reset(id_dtype, {rows, context});
  batch.targets.reset(id_dtype, {rows, context});
  std::vector<std::int64_t> window(static_cast<std::size_t>(context) + 1);
  for (std::int64_t row = 0; row < rows; ++row) {
    read(samples[static_cast<std::size_t>(row)], window.data());
    std::copy_n(window.begin(), context, batch.inputs.values<std::int64_t>().begin() + row * context);
    std::copy_n(window.begin() + 1, context, batch.targets.values<std::int64_t>().begin() + row * context);
  }
}

}  // namespace switchyard
