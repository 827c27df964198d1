#include "pointwise.hpp"

#include "dispatch.hpp"

namespace sy::kernels {

void activate(const lane& on, function f, sy_dtype type, int64_t n, const void* x, void* y) {
  expect_float("activate", type);
  if (n > 0) SY_ON_LANE(on, activate, f, type, n, x, y);
}

void activate_backward(const lane& on, function f, sy_dtype type, int64_t rows, int64_t columns, const void* dy,
                       const void* kept, void* dx, sum bias_gradient, void* scratch) {
  expect_float("activate_backward", type);
  expect_sum("activate_backward", bias_gradient);
  if (rows > 0 && columns > 0)
    SY_ON_LANE(on, activate_backward, f, type, rows, columns, dy, kept, dx, bias_gradient, scratch);
}

void swiglu(const lane& on, sy_dtype type, int64_t n, const void* gate, const void* up, void* y) {
  expect_float("swiglu", type);
  if (n > 0) SY_ON_LANE(on, swiglu, type, n, gate, up, y);
}

void swiglu_backward(const lane& on, sy_dtype type, int64_t n, const void* dy, const void* gate, const void* up,
                     void* dgate, void* dup) {
  expect_float("swiglu_backward", type);
  if (n > 0) SY_ON_LANE(on, swiglu_backward, type, n, dy, gate, up, dgate, dup);
}

void add(const lane& on, sy_dtype type, int64_t n, const void* a, const void* b, void* y) {
  expect_float("add", type);
  if (n > 0) SY_ON_LANE(on, add, type, n, a, b, y);
}

}  // namespace sy::kernels
