// A case against plain loops in fp64, with 1, 2 and 3 threads and on every kind of processor.
#pragma once

#include <doctest/doctest.h>

#include "kernels/cpu/twins.hpp"
#include "tensor.hpp"

namespace kernels {

/// The first element that is further from what is expected than it may be, in words; "" when none is. `times`: of the
/// rounding of the type, since both may be rounded.
inline std::string too_far(const Output& out, const std::vector<double>& expected, double times = 1) {
  double most = 0;
  for (const double e : expected)
    if (std::isfinite(e)) most = std::max(most, std::fabs(e));
  const Tensor& t = *out.tensor;
  const double allowed = out.loose * half_unit(wide(t.type)) * most + out.apart;
  for (int64_t i = 0; i < t.count; ++i) {
    const double e = expected.at(static_cast<std::size_t>(i)), got = t.at(i);
    if (std::isnan(e) && std::isnan(got)) continue;
    const double may = 1.01 * times * half_unit(t.type) * std::fabs(e) + allowed + (t.type.bits == 16 ? 0x1p-25 : 0);
    if (!(std::fabs(got - e) <= may))
      return out.name + "[" + std::to_string(i) + "] of " + std::to_string(t.count) + " " + name_of(t.type) +
             ": expected " + std::to_string(e) + ", found " + std::to_string(got) + ", allowed difference " +
             std::to_string(may);
  }
  return "";
}

template <class Case>
void check(const Case& fresh) {
  Case one = fresh;
  Host alone(1);
  one.run(alone);
  const auto outputs = one.outputs();
  const auto expected = one.expected();
  REQUIRE(outputs.size() == expected.size());
  for (std::size_t k = 0; k < outputs.size(); ++k) CHECK(too_far(outputs[k], expected[k]) == "");

  const auto same_as_one = [&](int threads) {
    Case again = fresh;
    Host host(threads);
    again.run(host);
    const auto others = again.outputs();
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      CAPTURE(outputs[k].name);
      CHECK(others[k].tensor->same_bits(*outputs[k].tensor));
    }
  };
  same_as_one(2);
  same_as_one(3);
  const cpu_twins* const best = on_cpu();
  for (const processor_twins& each : all_processors()) {
    if (!each.runs_here) continue;
    CAPTURE(each.processor);
    on_cpu() = each.twins;
    same_as_one(1);
  }
  on_cpu() = best;
}

inline constexpr sy_dtype all_types[] = {sy::f64, sy::f32, sy::bf16, sy::f16};

}  // namespace kernels
