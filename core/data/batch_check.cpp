#include "data/batch_check.hpp"

#include <cstring>
#include <limits>

#include "base/error.hpp"

namespace switchyard {
namespace {

/// Calls visit(span of T) for the elements of `ids`.
template <class T, class Visit>
auto typed(const IdsView& ids, Visit visit) {
  const auto count = static_cast<std::size_t>(element_count(ids.shape).value_or(0));
  return visit(std::span(static_cast<const T*>(ids.data), count));
}

template <class Visit>
auto with_elements(const IdsView& ids, Visit visit) {
  if (ids.dtype == dtype::i64) return typed<std::int64_t>(ids, visit);
  if (ids.dtype == dtype::i32) return typed<std::int32_t>(ids, visit);
  if (ids.dtype == dtype::i16) return typed<std::int16_t>(ids, visit);
  if (ids.dtype == dtype::i8) return typed<std::int8_t>(ids, visit);
  if (ids.dtype == dtype::u8) return typed<std::uint8_t>(ids, visit);
  throw Error(SY_E_ARGUMENT, "ids are integers, not " + dtype_name(ids.dtype));
}

/// "row 3, column 7" of the element with this number in row-major order.
std::string position(std::span<const std::int64_t> shape, std::size_t element, std::int64_t first_row) {
  std::vector<std::int64_t> at(shape.size());
  for (std::size_t d = shape.size(); d-- > 0;) {
    at[d] = static_cast<std::int64_t>(element) % shape[d];
    element /= static_cast<std::size_t>(shape[d]);
  }
  std::string text = "row " + std::to_string(first_row + (at.empty() ? 0 : at[0]));
  for (std::size_t d = 1; d < at.size(); ++d) text += (d == 1 ? ", column " : ", ") + std::to_string(at[d]);
  return text;
}

}  // namespace

void check_ids(const IdsView& ids, std::int64_t limit, std::optional<std::int64_t> ignore, const std::string& what,
               std::int64_t first_row) {
  with_elements(ids, [&](auto elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) {
      const std::int64_t id = elements[i];
      if (id >= 0 && id < limit) continue;
      if (ignore && id == *ignore) continue;
      throw Error(SY_E_DATA, what + ": id " + std::to_string(id) + " in " + position(ids.shape, i, first_row) +
                                 " is out of range: the limit is " + std::to_string(limit) + ", ids are 0 .. " +
                                 std::to_string(limit - 1));
    }
  });
}

std::int64_t count_valid(const IdsView& ids, std::int64_t ignore) {
  return with_elements(ids, [&](auto elements) {
    std::int64_t valid = 0;
    for (const auto id : elements) valid += static_cast<std::int64_t>(id) != ignore;
    return valid;
  });
}

std::int64_t count_valid(const HostTensor& targets, std::int64_t ignore) {
  if (is_float(targets.dtype())) return element_count(targets.shape()).value_or(0);
  return count_valid(ids_of(targets), ignore);
}

void widen_ids(const IdsView& ids, std::int64_t* to) {
  with_elements(ids, [&](auto elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) to[i] = elements[i];
  });
}

void ids_to_numbers(const IdsView& ids, float* to) {
  with_elements(ids, [&](auto elements) {
    for (std::size_t i = 0; i < elements.size(); ++i) to[i] = static_cast<float>(elements[i]);
  });
}

}  // namespace switchyard
