#include "data/micro_batches.hpp"

#include <string>

#include "base/error.hpp"

namespace switchyard {

std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t pieces) {
  if (pieces < 1 || pieces > rows)
    throw Error(SY_E_CONFIG, "cannot deal " + std::to_string(rows) + " samples to " + std::to_string(pieces) +
                                 " micro-batches: each needs at least one sample");
  std::vector<RowRange> ranges;
  std::int64_t first = 0;
  for (std::int64_t i = 0; i < pieces; ++i) {
    const std::int64_t count = rows / pieces + (i < rows % pieces ? 1 : 0);
    ranges.push_back({first, count});
    first += count;
  }
  return ranges;
}

}  // namespace switchyard
