// Initial distributions as the core reads them (sy_param.init), and declarations of linear maps.
#pragma once

#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "switchyard/cpp/torch.hpp"

namespace sy {

inline std::string init_text(const char* kind, double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%s(%.17g)", kind, x);
  return text;
}
/// N(0, std).
inline std::string normal(double std) { return init_text("normal", std); }
/// As torch.nn.Linear and Conv2d start weight and bias: uniform in +-1/sqrt(fan_in).
inline std::string fan_in_uniform(int64_t fan_in) {
  return init_text("uniform", 1.0 / std::sqrt(static_cast<double>(fan_in > 0 ? fan_in : 1)));
}

/// NAME.weight [out, in] and, with a bias, NAME.bias [out]; `name` empty or ending in a dot.
inline void declare_linear(std::vector<param>& to, const std::string& name, int64_t in, int64_t out, bool bias,
                           const std::string& weight_init, const std::string& bias_init) {
  to.push_back({name + "weight", {out, in}, weight_init});
  if (bias) to.push_back({.name = name + "bias", .shape = {out}, .init = bias_init, .flags = SY_PARAM_NO_DECAY});
}

}  // namespace sy
