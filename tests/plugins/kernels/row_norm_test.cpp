#include "check.hpp"
#include "row_norm_case.hpp"

using namespace kernels;

TEST_CASE("norm forward") {
  for (const sy_dtype type : all_types)
    for (const int64_t width : {1, 3, 17, 128, 768, 5000})
      for (const norm_rule rule : {norm_rule::layer, norm_rule::rms})
        for (const bool option : {false, true}) {
          const std::string of = name_of(type);
          CAPTURE(of);
          CAPTURE(width);
          check(NormForward(7, width, type, {.rule = rule, .residual = option, .bias = !option}));
        }
}

TEST_CASE("norm backward: every gradient, or some") {
  for (const sy_dtype type : all_types)
    for (const int64_t width : {1, 3, 17, 128, 768, 5000})
      for (const norm_rule rule : {norm_rule::layer, norm_rule::rms}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(width);
        const bool layer = rule == norm_rule::layer;
        check(NormBackward(70, width, type, {.rule = rule, .add = layer, .bias_gradient = layer, .column_sum = true}));
        check(NormBackward(5, width, type,
                           {.rule = rule, .in_place = true, .weight_gradient = false, .bias_gradient = false}));
        check(NormBackward(5, width, type, {.rule = rule, .add = true, .in_place = true, .gradient = sy::bf16}));
        check(NormBackward(5, width, type, {.rule = rule, .dx = false, .bias_gradient = layer}));
      }
}

TEST_CASE("norm backward: many groups of rows, gradients in bf16") {
  check(NormBackward(3000, 33, sy::f32, {.add = true, .column_sum = true}));
  check(NormBackward(200, 40, sy::bf16, {.column_sum = true, .gradient = sy::bf16}));
  check(NormBackward(200, 40, sy::f64, {.column_sum = true, .gradient = sy::f64}));
}

TEST_CASE("no rows are no work") {
  NormForward empty(0, 8, sy::f32, {});
  Host host(1);
  empty.run(host);
  NormBackward backward(0, 8, sy::f32, {});
  backward.run(host);
  CHECK(backward.weight_gradient.same_bits(backward.weight_before));
}
