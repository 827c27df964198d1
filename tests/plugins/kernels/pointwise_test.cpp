#include "check.hpp"
#include "pointwise_case.hpp"

using namespace kernels;

TEST_CASE("activations and their backward") {
  for (const sy_dtype type : all_types)
    for (const function f : all_functions)
      for (const int64_t columns : {1, 3, 17, 768, 2048}) {
        const std::string of = name_of(type);
        CAPTURE(of);
        CAPTURE(static_cast<int>(f));
        CAPTURE(columns);
        check(Activate(f, columns * 9, type, columns % 3 == 0));
        check(ActivateBackward(f, 9, columns, type, columns % 3 == 0, false));
        check(ActivateBackward(f, 70, columns, type, columns % 3 != 0, true));
      }
  check(ActivateBackward(function::gelu, 70, 33, sy::bf16, false, true, sy::bf16));
  check(Activate(function::gelu, 100001, sy::f32, false));
}

TEST_CASE("gates and additions, in place or not") {
  for (const sy_dtype type : all_types)
    for (const int64_t n : {1, 15, 16, 17, 5000, 40000}) {
      const std::string of = name_of(type);
      CAPTURE(of);
      CAPTURE(n);
      for (const int into : {0, 1, 2}) check(Swiglu(n, type, false, into));
      for (const int into : {0, 1, 3, 4}) check(Swiglu(n, type, true, into));
      for (const int into : {0, 1, 2}) check(Add(n, type, into));
    }
}

namespace {

/// The largest error of f over fp32 numbers from -range to range, in units of the last place of the result.
double worst_units(function f, float range) {
  constexpr int64_t n = 400001;
  Tensor x(sy::f32, n), y(sy::f32, n);
  for (int64_t i = 0; i < n; ++i) x.set(i, range * (2.0 * static_cast<double>(i) / (n - 1) - 1));
  Host host(1);
  activate(host.on, f, sy::f32, n, x.data(), y.data());
  double most = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double exact = value_of(f, x.at(i));
    const auto size = static_cast<float>(std::fabs(exact));
    const double unit = static_cast<double>(std::nextafter(size, INFINITY)) - size;
    most = std::max(most, std::fabs(y.at(i) - exact) / unit);
  }
  return most;
}

}  // namespace

TEST_CASE("fp32 functions are accurate to some units in the last place") {
  CHECK(worst_units(function::tanh, 12) < 2);
  CHECK(worst_units(function::tanh, 1) < 2);
  CHECK(worst_units(function::sigmoid, 5) < 3);
  CHECK(worst_units(function::sigmoid, 87) < 3);
  CHECK(worst_units(function::silu, 80) < 4);
  CHECK(worst_units(function::gelu_tanh, 3) < 24);
  CHECK(worst_units(function::gelu, 1) < 8);
  CHECK(worst_units(function::gelu, 4) < 40);
}

TEST_CASE("what is no number, or infinite, stays so") {
  for (const sy_dtype type : all_types)
    for (const function f : all_functions) {
      CAPTURE(static_cast<int>(f));
      Tensor x(type, 4), y(type, 4);
      x.set(0, NAN), x.set(1, INFINITY), x.set(2, 1000), x.set(3, -1000);
      Host host(1);
      activate(host.on, f, type, 4, x.data(), y.data());
      CHECK(std::isnan(y.at(0)));
      const bool bounded = f == function::tanh || f == function::sigmoid;
      CHECK(y.at(1) == (bounded ? 1 : INFINITY));
      CHECK(y.at(2) == (bounded ? 1 : 1000));
      CHECK(y.at(3) == (f == function::tanh ? -1 : 0));
    }
}
