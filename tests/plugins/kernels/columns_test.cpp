#include "check.hpp"
#include "columns_case.hpp"

using namespace kernels;

TEST_CASE("column sums") {
  for (const sy_dtype type : all_types)
    for (const int64_t columns : {1, 3, 17, 768, 5000})
      for (const int64_t rows : {1, 6, 133}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(columns);
        CAPTURE(rows);
        check(ColumnSum(rows, columns, type, type.bits == 64 ? sy::f64 : sy::f32));
        check(ColumnSum(rows, columns, type, sy::bf16));
      }
  check(ColumnSum(10000, 5, sy::f32, sy::f32));
}

TEST_CASE("parts of any strides side by side, with the sums of their columns") {
  for (const sy_dtype type : all_types) {
    const std::string of = name_of(type);
    CAPTURE(of);
    check(Pack(2, 9, 4, 2, 16, type, sy::f32, true));
    check(Pack(3, 50, 3, 1, 5, type, sy::bf16, true));
    check(Pack(1, 7, 2, 2, 64, type, sy::f32, false));
    check(Pack(2, 8, 2, 1, 64, type, sy::f32, true, 0));
  }
}
