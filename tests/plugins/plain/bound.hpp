// What the plain layers share: checks of their inputs, and the views of values and gradients that the core bound.
#pragma once

#include <cstdio>
#include <string>
#include <vector>

#include "numbers.hpp"

namespace plain {

inline void expect_inputs(sy::ports in, std::size_t count) {
  if (in.size() != count)
    throw sy::fault(SY_E_CONFIG, "expected " + std::to_string(count) + " inputs, found " + std::to_string(in.size()));
}
inline void expect_numbers(const sy_port& p) {
  if (!is_number(p.dtype)) throw sy::fault(SY_E_CONFIG, "expected an input of fp32, bf16 or fp16");
  if (p.ndim < 1) throw sy::fault(SY_E_CONFIG, "expected an input with at least one dimension");
}
inline void expect_ids(const sy_port& p) {
  if (p.dtype.code != SY_INT || (p.dtype.bits != 64 && p.dtype.bits != 32))
    throw sy::fault(SY_E_CONFIG, "expected ids: int64 or int32");
}
/// Remembers a width that follows from the input; another one later is an error.
inline void learn(int64_t& width, int64_t found) {
  if (width != 0 && width != found)
    throw sy::fault(SY_E_CONFIG, "expected width " + std::to_string(width) + ", found " + std::to_string(found));
  width = found;
}
inline std::string call_text(const char* function, double x) {
  char text[64];
  std::snprintf(text, sizeof text, "%s(%.17g)", function, x);
  return text;
}
inline uint64_t elements(const sy_port& p) {
  uint64_t n = 1;
  for (int32_t d = 0; d < p.ndim; ++d) n *= static_cast<uint64_t>(p.shape[d]);
  return n;
}

class bound {
 public:
  void bind(const sy_binding& b) {
    values_.assign(b.values, b.values + b.n_params);
    grads_.assign(b.n_params, nullptr);
    if (b.grads) grads_.assign(b.grads, b.grads + b.n_params);
  }
  const sy_view& value(std::size_t i) const { return *values_.at(i); }
  bool trained(std::size_t i) const { return grads_.at(i) != nullptr; }
  void add_gradient(std::size_t i, const std::vector<double>& g) const {
    if (trained(i)) add(*grads_[i], g);
  }

 private:
  std::vector<const sy_view*> values_, grads_;
};

}  // namespace plain
