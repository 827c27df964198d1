// Activations, gates, additions.
#pragma once

#include "kernels/columns.hpp"
#include "kernels/pointwise.hpp"
#include "tensor.hpp"

namespace kernels {

inline constexpr function all_functions[] = {function::relu, function::gelu, function::gelu_tanh,
                                             function::silu, function::tanh, function::sigmoid};

inline double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
inline double value_of(function f, double x) {
  switch (f) {
    case function::relu:
      return x < 0 ? 0 : x;
    case function::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case function::gelu_tanh:
      return x * sigmoid(2 * std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x));
    case function::silu:
      return x * sigmoid(x);
    case function::tanh:
      return std::tanh(x);
    case function::sigmoid:
      return sigmoid(x);
  }
  return NAN;
}
/// By x, or by y where reads_output.
inline double slope_of(function f, double kept) {
  switch (f) {
    case function::relu:
      return kept > 0 ? 1 : 0;
    case function::gelu:
      return 0.5 * std::erfc(-kept / std::sqrt(2.0)) + kept * std::exp(-0.5 * kept * kept) / std::sqrt(2 * M_PI);
    case function::gelu_tanh: {
      const double c = 2 * std::sqrt(2 / M_PI), s = sigmoid(c * (kept + 0.044715 * kept * kept * kept));
      return s + kept * s * (1 - s) * c * (1 + 3 * 0.044715 * kept * kept);
    }
    case function::silu: {
      const double s = sigmoid(kept);
      return s * (1 + kept * (1 - s));
    }
    case function::tanh:
      return 1 - kept * kept;
    case function::sigmoid:
      return kept * (1 - kept);
  }
  return NAN;
}

struct Activate {
  function f;
  bool in_place;
  Tensor x, before, y;

  Activate(function f, int64_t n, sy_dtype type, bool in_place)
      : f(f), in_place(in_place), x(normal(type, n, 41, 0, 3)), before(x) {
    if (!in_place) y = Tensor(type, n);
  }
  Tensor& result() { return in_place ? x : y; }
  void run(Place& place) { activate(place.on, f, x.type, x.count, place.at(x), place.at(result())); }
  std::vector<Output> outputs() { return {{"y", &result(), 4}}; }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> ys;
    for (int64_t i = 0; i < before.count; ++i) ys.push_back(value_of(f, before.at(i)));
    return {ys};
  }
};

struct ActivateBackward {
  function f;
  int64_t rows, columns;
  bool in_place;
  Tensor dy, before, kept, dx, bias, bias_before, room;

  ActivateBackward(function f, int64_t rows, int64_t columns, sy_dtype type, bool in_place, bool with_bias,
                   sy_dtype gradient = sy::f32)
      : f(f),
        rows(rows),
        columns(columns),
        in_place(in_place),
        dy(normal(type, rows * columns, 42)),
        before(dy),
        kept(normal(type, rows * columns, 43, 0, 2)) {
    for (int64_t i = 0; reads_output(f) && i < kept.count; ++i) kept.set(i, value_of(f, kept.at(i)));
    if (!in_place) dx = Tensor(type, rows * columns);
    if (with_bias) bias = normal(gradient, columns, 44);
    bias_before = bias;
  }
  Tensor& result() { return in_place ? dy : dx; }
  void run(Place& place) {
    room = scratch(column_sum_scratch(place.on, dy.type, rows, columns));
    activate_backward(place.on, f, dy.type, rows, columns, place.at(dy), place.at(kept), place.at(result()),
                      place.gradient(bias), bias.count ? place.at(room) : nullptr);
  }
  std::vector<Output> outputs() {
    const double many = std::sqrt(static_cast<double>(rows));
    std::vector<Output> all = {{"dx", &result(), 24}};
    if (bias.count) all.push_back({"bias gradient", &bias, 8 + 4 * many, 0, 4 * half_unit(dy.type) * many});
    return all;
  }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> dxs, sums;
    for (int64_t c = 0; c < bias.count; ++c) sums.push_back(bias_before.at(c));
    for (int64_t i = 0; i < before.count; ++i) {
      dxs.push_back(before.at(i) * slope_of(f, kept.at(i)));
      if (bias.count) sums[static_cast<std::size_t>(i % columns)] += (in_place ? dy : dx).at(i);  // as stored
    }
    if (!bias.count) return {dxs};
    return {dxs, sums};
  }
};

/// swiglu and its backward; `into`: which argument the results replace, 0 none.
struct Swiglu {
  bool backward;
  int into;
  Tensor dy, gate, up, y, more, dy_before, gate_before, up_before;

  Swiglu(int64_t n, sy_dtype type, bool backward, int into)
      : backward(backward),
        into(into),
        dy(normal(type, n, 51)),
        gate(normal(type, n, 52, 0, 2)),
        up(normal(type, n, 53)),
        y(type, n),
        more(type, n),
        dy_before(dy),
        gate_before(gate),
        up_before(up) {}
  Tensor& first() { return into == 1 ? gate : into == 2 && !backward ? up : into == 3 ? dy : y; }
  Tensor& second() { return into == 1 ? up : into == 4 ? dy : more; }
  void run(Place& place) {
    if (!backward) return swiglu(place.on, y.type, y.count, place.at(gate), place.at(up), place.at(first()));
    swiglu_backward(place.on, y.type, y.count, place.at(dy), place.at(gate), place.at(up), place.at(first()),
                    place.at(second()));
  }
  std::vector<Output> outputs() {
    if (!backward) return {{"y", &first(), 8}};
    return {{"dgate", &first(), 16}, {"dup", &second(), 8}};
  }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> a, b;
    for (int64_t i = 0; i < y.count; ++i) {
      const double g = gate_before.at(i), u = up_before.at(i), d = dy_before.at(i);
      a.push_back(backward ? d * u * slope_of(function::silu, g) : value_of(function::silu, g) * u);
      b.push_back(d * value_of(function::silu, g));
    }
    if (!backward) return {a};
    return {a, b};
  }
};

struct Add {
  int into;
  Tensor a, b, y, a_before, b_before;

  Add(int64_t n, sy_dtype type, int into)
      : into(into), a(normal(type, n, 54)), b(normal(type, n, 55)), y(type, n), a_before(a), b_before(b) {}
  Tensor& result() { return into == 1 ? a : into == 2 ? b : y; }
  void run(Place& place) { add(place.on, y.type, y.count, place.at(a), place.at(b), place.at(result())); }
  std::vector<Output> outputs() { return {{"y", &result(), 1}}; }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> all;
    for (int64_t i = 0; i < y.count; ++i) all.push_back(a_before.at(i) + b_before.at(i));
    return {all};
  }
};

}  // namespace kernels
