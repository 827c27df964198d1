// What is checked and counted of a batch before the first stage sees it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/dtype.hpp"
#include "data/source.hpp"

namespace switchyard {

/// Row-major integers on the host (int64, int32, int16, int8 or uint8); dimension 0 is the row. Lent.
struct IdsView {
  const void* data = nullptr;
  sy_dtype dtype{};
  std::span<const std::int64_t> shape;
};
inline IdsView ids_of(const HostTensor& tensor) { return {tensor.bytes().data(), tensor.dtype(), tensor.shape()}; }

/// SY_E_DATA unless every id is in 0 .. limit - 1 or equals `ignore`: "WHAT: id 64 in row 3, column 7 is out of range:
/// the limit is 64, ids are 0 .. 63". Rows and columns count from 0; `first_row` is added to rows; a single id per row
/// has no column, more dimensions give one column number each. SY_E_ARGUMENT: not a type of integers.
void check_ids(const IdsView& ids, std::int64_t limit, std::optional<std::int64_t> ignore, const std::string& what,
               std::int64_t first_row = 0);

/// Ids that differ from `ignore`: the targets that count. SY_E_ARGUMENT: not a type of integers.
std::int64_t count_valid(const IdsView& ids, std::int64_t ignore);
/// The same for a source's targets; targets that are numbers all count, each element for one.
std::int64_t count_valid(const HostTensor& targets, std::int64_t ignore);

/// All elements as int64, or rounded to fp32; `to` has room for them. SY_E_ARGUMENT: not a type of integers.
void widen_ids(const IdsView& ids, std::int64_t* to);
void ids_to_numbers(const IdsView& ids, float* to);

}  // namespace switchyard
