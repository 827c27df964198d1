#include "rotary.hpp"

#include "dispatch.hpp"

namespace sy::kernels {

void rotate(const lane& on, sy_dtype type, int64_t rows, int64_t time, int64_t heads, int64_t head_width,
            int64_t row_stride, double base, bool back, void* x) {
  expect_float("rotate", type);
  if (head_width % 2 != 0) throw fault(SY_E_ARGUMENT, "rotate: heads are of even width");
  if (rows > 0 && time > 0 && heads > 0 && head_width > 0)
    SY_ON_LANE(on, rotate, type, rows, time, heads, head_width, row_stride, base, back, x);
}

}  // namespace sy::kernels
