// y = x W^T + b, with the backward split in two.
#pragma once

#include <cmath>

#include "bound.hpp"

namespace plain {

/// Products in double, each sum from the first to the last element.
struct matrix {
  int64_t rows, columns;
  std::vector<float> at;
};
/// a [n, k] times b [m, k] transposed: [n, m]
inline std::vector<double> times_transposed(const matrix& a, const matrix& b) {
  std::vector<double> c(static_cast<std::size_t>(a.rows * b.rows), 0.0);
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < b.rows; ++j) {
      double sum = 0;
      for (int64_t k = 0; k < a.columns; ++k)
        sum += double{a.at[static_cast<std::size_t>(i * a.columns + k)]} *
               b.at[static_cast<std::size_t>(j * b.columns + k)];
      c[static_cast<std::size_t>(i * b.rows + j)] = sum;
    }
  return c;
}
inline matrix transposed(const matrix& a) {
  matrix t{a.columns, a.rows, std::vector<float>(a.at.size())};
  for (int64_t i = 0; i < a.rows; ++i)
    for (int64_t j = 0; j < a.columns; ++j)
      t.at[static_cast<std::size_t>(j * a.rows + i)] = a.at[static_cast<std::size_t>(i * a.columns + j)];
  return t;
}
inline std::vector<double> sums_of_columns(const matrix& a) {
  std::vector<double> sums(static_cast<std::size_t>(a.columns), 0.0);
  for (std::size_t i = 0; i < a.at.size(); ++i) sums[i % sums.size()] += a.at[i];
  return sums;
}
/// A view as rows of its last dimension.
inline matrix rows_of(const sy_view& v) {
  const int64_t columns = v.shape[v.ndim - 1];
  return {columns ? sy::count(v) / columns : 0, columns, read(v)};
}

class Linear : public bound {
 public:
  static constexpr const char* id = "plain_linear";
  static constexpr const char* help = "a matrix product in plain C++, summed in double";
  static constexpr sy_option options[] = {
      sy::i64_option("out", nullptr, 1, 1e9, "width of the output"),
      sy::bool_option("bias", "true", "add a bias"),
  };
  struct saved {
    sy::tensor x, dy;
  };

  explicit Linear(const sy::config& c) : out_(c.i64("out")), bias_(c.flag("bias")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_numbers(*in[0]);
    learn(in_, in[0]->shape[in[0]->ndim - 1]);
    sy::port y = sy::like(*in[0]);
    y.shape.back() = out_;
    return {y};
  }
  std::vector<sy::param> params() const {
    const std::string init = call_text("uniform", 1 / std::sqrt(static_cast<double>(in_)));
    std::vector<sy::param> all{{"weight", {out_, in_}, init}};
    if (bias_) all.push_back({"bias", {out_}, init});
    return all;
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const double flops = 2.0 * static_cast<double>(elements(*in[0])) * static_cast<double>(out_);
    sy::cost c{flops, flops, flops};
    c.bytes_held = sy::bytes_of(*in[0]) / static_cast<uint64_t>(in_) * static_cast<uint64_t>(in_ + out_);  // x, dy
    c.keep_in = 1;
    return c;
  }

  saved forward(const sy_call& call) {
    const sy_view& x = in(call, 0);
    std::vector<double> y = times_transposed(rows_of(x), rows_of(value(0)));
    if (bias_) {
      const std::vector<float> b = read(value(1));
      for (std::size_t i = 0; i < y.size(); ++i) y[i] += b[i % b.size()];
    }
    std::vector<int64_t> s = shape(x);
    s.back() = out_;
    call.out[0] = made(call, s, x.dtype, std::span<const double>(y));
    return {sy::tensor::keep(call.in[0]), {}};
  }
  void backward_input(const sy_call& call, saved& s) {
    s.dy = sy::tensor::keep(call.in[0]);
    if (!wants(call, 0)) return;
    std::vector<double> dx(static_cast<std::size_t>(sy::count(s.x.view())), 0.0);
    if (s.dy) dx = times_transposed(rows_of(s.dy.view()), transposed(rows_of(value(0))));
    call.out[0] = made_like(call, s.x.view(), dx);
  }
  void backward_weight(const sy_call&, saved&& s) {
    if (!s.dy) return;
    const matrix dy = rows_of(s.dy.view());
    if (trained(0)) add_gradient(0, times_transposed(transposed(dy), transposed(rows_of(s.x.view()))));
    if (bias_ && trained(1)) add_gradient(1, sums_of_columns(dy));
  }

 private:
  int64_t out_, in_ = 0;
  bool bias_;
};

}  // namespace plain
