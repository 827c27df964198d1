#include "check.hpp"
#include "softmax_loss_case.hpp"

using namespace kernels;

TEST_CASE("loss and gradient in place of logits") {
  for (const sy_dtype type : all_types)
    for (const int64_t classes : {1, 2, 17, 256, 5003})
      for (const bool right : {false, true}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(classes);
        check(SoftmaxLoss(13, classes, type, {.right = right}));
        check(SoftmaxLoss(13, classes, type, {.right = right, .ignores = true}));
        check(SoftmaxLoss(13, classes, type, {.gradient = false, .right = right}));
      }
}

TEST_CASE("targets of any whole type") {
  for (const sy_dtype type : {sy::i64, sy::i32, sy_dtype{SY_INT, 16, 1}, sy_dtype{SY_INT, 8, 1}, sy::u8,
                              sy_dtype{SY_UINT, 16, 1}, sy_dtype{SY_UINT, 32, 1}})
    check(SoftmaxLoss(9, 40, sy::f32, {.right = true, .ignores = true, .target_type = type}));
}

TEST_CASE("logits far apart neither overflow nor vanish") {
  check(SoftmaxLoss(9, 300, sy::f32, {.scale = 300}));
  check(SoftmaxLoss(9, 300, sy::bf16, {.scale = 1000}));
}

TEST_CASE("a target that is no class makes its loss NaN, and nothing else") {
  SoftmaxLoss wrong(3, 40, sy::f32, {.right = true, .target_type = sy::i32});
  const int32_t targets[] = {40, 5, -1};
  std::memcpy(wrong.targets.data(), targets, sizeof targets);
  Host host(1);
  wrong.run(host);
  CHECK(std::isnan(wrong.losses.at(0)));
  CHECK(std::isfinite(wrong.losses.at(1)));
  CHECK(std::isnan(wrong.losses.at(2)));
  CHECK(wrong.right.at(0) == 0);
}
