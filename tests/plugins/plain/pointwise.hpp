// Layers that work element by element: relu, tanh, add, dropout.
#pragma once

#include <cmath>

#include "bound.hpp"

namespace plain {

/// A function whose derivative follows from its result.
template <class Function>
struct Activation {
  static constexpr const char* id = Function::id;
  static constexpr const char* help = Function::help;
  struct saved {
    sy::tensor y;
  };
  explicit Activation(const sy::config&) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_numbers(*in[0]);
    return {sy::like(*in[0])};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    sy::cost c{static_cast<double>(elements(*in[0])), static_cast<double>(elements(*in[0]))};
    c.keep_out = 1;
    return c;
  }
  saved forward(const sy_call& call) {
    std::vector<float> y = read(in(call, 0));
    for (float& v : y) v = Function::value(v);
    call.out[0] = made_like(call, in(call, 0), y);
    return {sy::tensor::keep(call.out[0])};
  }
  void backward(const sy_call& call, saved&& s) {
    if (!wants(call, 0)) return;
    const std::vector<float> y = read(s.y.view());
    std::vector<float> d = read_or_zeros(call.in[0], y.size());
    for (std::size_t i = 0; i < d.size(); ++i) d[i] *= Function::slope(y[i]);
    call.out[0] = made_like(call, s.y.view(), d);
  }
};

struct ReluFunction {
  static constexpr const char* id = "plain_relu";
  static constexpr const char* help = "the larger of x and 0";
  static float value(float x) { return x > 0 || x != x ? x : 0; }
  static float slope(float y) { return y > 0 ? 1.0f : 0.0f; }
};
struct TanhFunction {
  static constexpr const char* id = "plain_tanh";
  static constexpr const char* help = "the hyperbolic tangent";
  static float value(float x) { return static_cast<float>(std::tanh(double{x})); }
  static float slope(float y) { return 1.0f - y * y; }
};
using Relu = Activation<ReluFunction>;
using Tanh = Activation<TanhFunction>;

struct Add {
  static constexpr const char* id = "plain_add";
  static constexpr const char* help = "the sum of two inputs";
  struct saved {};
  explicit Add(const sy::config&) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 2);
    expect_numbers(*in[0]);
    if (sy::shape_of(*in[0]) != sy::shape_of(*in[1])) throw sy::fault(SY_E_CONFIG, "the two inputs differ in shape");
    shape_ = sy::shape_of(*in[0]);
    return {sy::like(*in[0])};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const { return {static_cast<double>(elements(*in[0]))}; }
  saved forward(const sy_call& call) {
    std::vector<float> y = read(in(call, 0));
    const std::vector<float> more = read(in(call, 1));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] += more[i];
    call.out[0] = made_like(call, in(call, 0), y);
    return {};
  }
  void backward(const sy_call& call, saved&&) {
    for (uint32_t i = 0; i < 2; ++i)
      if (wants(call, i) && call.in[0]) call.out[i] = made_like(call, in(call, 0), read(in(call, 0)));
  }

 private:
  std::vector<int64_t> shape_;
};

/// Masks are drawn again in backward: they follow from step, sample and element alone (see random.h).
class Dropout {
 public:
  static constexpr const char* id = "plain_dropout";
  static constexpr const char* help = "drops elements in training and scales the rest by 1 / (1 - p)";
  static constexpr sy_option options[] = {sy::f64_option("p", "0.1", 0, 1, "share of elements to drop")};
  struct saved {
    uint64_t step = 0;
    int64_t first_sample = 0;
  };
  explicit Dropout(const sy::config& c) : p_(c.f64("p")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_numbers(*in[0]);
    return {sy::like(*in[0])};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    return {static_cast<double>(elements(*in[0])), static_cast<double>(elements(*in[0]))};
  }
  saved forward(const sy_call& call) {
    std::vector<float> y = read(in(call, 0));
    if (call.kind == SY_TRAIN) mask(call, call.step, call.first_sample, in(call, 0).shape[0], y);
    call.out[0] = made_like(call, in(call, 0), y);
    return {call.step, call.first_sample};
  }
  void backward(const sy_call& call, saved&& s) {
    if (!wants(call, 0) || !call.in[0]) return;
    std::vector<float> d = read(in(call, 0));
    mask(call, s.step, s.first_sample, in(call, 0).shape[0], d);
    call.out[0] = made_like(call, in(call, 0), d);
  }

 private:
  void mask(const sy_call& call, uint64_t step, int64_t first, int64_t rows, std::vector<float>& x) const {
    if (rows == 0) return;
    uint32_t key[2], word[4];
    sy_random_key(call.seed, call.layer_key, key);
    const uint64_t threshold = sy_drop_threshold(p_);
    const auto scale = static_cast<float>(p_ < 1 ? 1 / (1 - p_) : 0);
    const auto per_sample = x.size() / static_cast<std::size_t>(rows);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto sample = static_cast<uint32_t>(first + static_cast<int64_t>(i / per_sample));
      const uint64_t element = i % per_sample;
      sy_random_block(key, static_cast<uint32_t>(step), sample, element, word);
      x[i] = sy_dropped(word[element & 3], threshold) ? 0.0f : x[i] * scale;
    }
  }
  double p_;
};

}  // namespace plain
