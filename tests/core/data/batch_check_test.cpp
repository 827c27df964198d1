#include "data/batch_check.hpp"

#include <doctest/doctest.h>

#include "../store/temp_folder.hpp"
#include "base/error.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

template <class T>
HostTensor tensor(sy_dtype type, std::vector<std::int64_t> shape, const std::vector<T>& values) {
  HostTensor result;
  result.reset(type, std::move(shape));
  REQUIRE(result.values<T>().size() == values.size());
  std::copy(values.begin(), values.end(), result.values<T>().begin());
  return result;
}

std::string refusal(const HostTensor& ids, std::int64_t limit, std::optional<std::int64_t> ignore = {},
                    std::int64_t first_row = 0) {
  return failure([&] { check_ids(ids_of(ids), limit, ignore, "layer 0 'embed'", first_row); });
}

}  // namespace

TEST_CASE("an id out of range is named with row, column and limit") {
  const auto ids = tensor<std::int64_t>(dtype::i64, {2, 3}, {0, 63, 5, 1, 64, 2});
  CHECK(refusal(ids, 65) == "");
  CHECK(refusal(ids, 64) ==
        "15 layer 0 'embed': id 64 in row 1, column 1 is out of range: the limit is 64, ids are 0 .. 63");
  CHECK(contains(refusal(ids, 64, {}, 10), "row 11, column 1"));
  CHECK(contains(refusal(ids, 63), "id 63 in row 0, column 1"));
  CHECK(contains(refusal(tensor<std::int32_t>(dtype::i32, {2}, {0, -1}), 4), "id -1 in row 1 is out of range"));
  CHECK(contains(refusal(tensor<std::uint8_t>(dtype::u8, {1, 2, 2}, {0, 0, 200, 0}), 9), "row 0, column 1, 0 is"));
}

TEST_CASE("the ignored id passes where it is allowed") {
  const auto ids = tensor<std::int64_t>(dtype::i64, {2}, {-100, 3});
  CHECK(refusal(ids, 4, -100) == "");
  CHECK(contains(refusal(ids, 4), "id -100 in row 0"));
  CHECK(contains(refusal(ids, 4, -1), "id -100 in row 0"));
  CHECK(contains(refusal(tensor<float>(dtype::f32, {1}, {1}), 4), "ids are integers, not fp32"));
}

TEST_CASE("targets that count") {
  const auto ids = tensor<std::int64_t>(dtype::i64, {2, 3}, {-100, 0, 1, -100, -100, 2});
  CHECK(count_valid(ids, -100) == 3);
  CHECK(count_valid(ids, 0) == 5);
  CHECK(count_valid(ids_of(tensor<std::int16_t>(dtype::i16, {2}, {-1, -1})), -1) == 0);
  CHECK(count_valid(tensor<float>(dtype::f32, {2, 2}, {-100, 1, 2, 3}), -100) == 4);
}

TEST_CASE("host tensors are aligned and keep their memory") {
  HostTensor tensor;
  tensor.reset(dtype::f32, {3, 5});
  const auto* first = tensor.bytes().data();
  CHECK(reinterpret_cast<std::uintptr_t>(first) % 256 == 0);
  CHECK(tensor.row_bytes() == 20);
  tensor.reset(dtype::i64, {2, 3});
  CHECK(tensor.bytes().data() == first);
  CHECK(tensor.values<std::int64_t>().size() == 6);
  tensor.reset(dtype::f32, {0, 5});
  CHECK((tensor.rows() == 0 && tensor.row_bytes() == 0 && tensor.bytes().empty()));
  CHECK_THROWS_AS(tensor.reset(dtype::f32, {std::int64_t{1} << 62}), Error);
}
