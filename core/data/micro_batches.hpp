// How the rows of a step are dealt to its micro-batches.
#pragma once

#include <cstdint>
#include <vector>

namespace switchyard {

struct RowRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

/// `pieces` neighbouring ranges that cover 0 .. rows - 1, none empty, the larger ones first, sizes differing by at most
/// 1: 5 rows in 4 pieces are 2, 1, 1, 1. Error SY_E_CONFIG with both numbers: more pieces than rows, or no piece.
std::vector<RowRange> split_rows(std::int64_t rows, std::int64_t pieces);

}  // namespace switchyard
