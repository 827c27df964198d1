#include "check.hpp"
#include "rotary_case.hpp"

using namespace kernels;

TEST_CASE("heads turn by position; what stands behind them stays") {
  for (const sy_dtype type : all_types)
    for (const int64_t head_width : {2, 6, 32, 128, 4096})
      for (const bool back : {false, true}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(head_width);
        check(Rotate(2, 5, 3, head_width, type, back));
        check(Rotate(1, 70, 1, head_width, type, back, 0));
      }
}
