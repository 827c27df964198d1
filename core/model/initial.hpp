// Initial values: a pure function of (seed, full name, element), so that placement never changes the start.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace switchyard {

/// "zeros", "ones", "constant(x)", "normal(std)", "uniform(bound)".
struct Distribution {
  enum class Kind { constant, normal, uniform } kind = Kind::constant;
  double value = 0;  // the constant, the standard deviation, or the bound of [-bound, bound)
  /// Throws Error(SY_E_CONFIG) naming the forms that exist.
  static Distribution parse(const std::string& text);
};

/// Fills a whole parameter on the host, large ones by all of its processors. [any]
void draw_initial(const Distribution& from, uint64_t seed, const std::string& full_name, std::span<float> out);

}  // namespace switchyard
