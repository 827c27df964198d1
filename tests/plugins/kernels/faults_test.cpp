#include "check.hpp"
#include "kernels/columns.hpp"
#include "kernels/embed.hpp"
#include "kernels/pointwise.hpp"
#include "kernels/softmax_loss.hpp"

using namespace kernels;

namespace {

template <class Call>
sy_rc code_of(const Call& call) {
  try {
    call();
  } catch (const sy::fault& fault) {
    return fault.code;
  }
  return SY_OK;
}

}  // namespace

TEST_CASE("types that a kernel has no code for are faults") {
  float x[4] = {}, y[4] = {};
  const lane on;
  CHECK(code_of([&] { add(on, sy::i32, 4, x, x, y); }) == SY_E_ARGUMENT);
  CHECK(code_of([&] { column_sum(on, sy::f32, 1, 4, x, {y, sy::f16}, y); }) == SY_E_ARGUMENT);
  softmax_loss_data loss{};
  loss.rows = 1, loss.classes = 4, loss.type = sy::f32, loss.target_type = sy::f32;
  CHECK(code_of([&] { softmax_loss(on, loss); }) == SY_E_ARGUMENT);
  CHECK(code_of([&] { embed(on, {1, 1, 4, 1, sy::f32, sy::f64}, x, x, nullptr, y); }) == SY_E_ARGUMENT);
  const std::vector<packed_part> many(9);
  CHECK(code_of([&] { pack(on, sy::f32, 1, 1, 4, many.data(), 9, y, {}, nullptr); }) == SY_E_ARGUMENT);
}

#ifndef SWITCHYARD_WITH_CUDA
TEST_CASE("a build without CUDA says so") {
  float x[4] = {};
  lane on;
  on.cuda = true;
  CHECK(code_of([&] { add(on, sy::f32, 4, x, x, x); }) == SY_E_UNIMPLEMENTED);
  CHECK(code_of([&] { sum_losses(on, 0, nullptr, nullptr, x); }) == SY_E_UNIMPLEMENTED);
}
#endif
