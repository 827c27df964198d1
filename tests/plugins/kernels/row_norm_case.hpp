// norm_forward and norm_backward with any of their options.
#pragma once

#include "kernels/row_norm.hpp"
#include "tensor.hpp"

namespace kernels {

struct NormOptions {
  norm_rule rule = norm_rule::layer;
  bool residual = false, bias = true;  // forward
  bool add = false, in_place = false;  // backward: dx over add, or over dy
  bool dx = true, weight_gradient = true, bias_gradient = true, column_sum = false;
  sy_dtype gradient = sy::f32;
};

struct NormForward {
  norm_size size;
  NormOptions options;
  Tensor x, residual, sum, weight, bias, y, mean, rstd;

  NormForward(int64_t rows, int64_t width, sy_dtype type, NormOptions o)
      : size{rows, width, type, o.rule, 1e-5},
        options(o),
        x(normal(type, rows * width, 1, 0.5, 2)),
        weight(normal(type, width, 3, 1, 0.2)),
        y(type, rows * width),
        rstd(wide(type), rows) {
    if (o.residual) residual = normal(type, rows * width, 2, 0, 1.5), sum = Tensor(type, rows * width);
    if (o.bias && o.rule == norm_rule::layer) bias = normal(type, width, 4, 0, 0.3);
    if (o.rule == norm_rule::layer) mean = Tensor(wide(type), rows);
  }
  void run(Place& place) {
    norm_forward(place.on, size,
                 {.x = place.at(x),
                  .residual = place.at(residual),
                  .sum = place.at(sum),
                  .weight = place.at(weight),
                  .bias = place.at(bias),
                  .y = place.at(y),
                  .mean = place.at(mean),
                  .rstd = place.at(rstd)});
  }
  std::vector<Output> outputs() {
    std::vector<Output> all = {{"y", &y, 32}, {"rstd", &rstd, 32}};
    if (mean.count) all.push_back({"mean", &mean, 8});
    if (sum.count) all.push_back({"sum", &sum, 1});
    return all;
  }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> ys, rstds, means, sums;
    for (int64_t r = 0; r < size.rows; ++r) {
      std::vector<double> row;
      for (int64_t c = 0; c < size.width; ++c) {
        const int64_t i = r * size.width + c;
        row.push_back(residual.count ? rounded(rounded(x.at(i) + residual.at(i), wide(size.type)), size.type)
                                     : x.at(i));
      }
      long double m = 0, squares = 0;
      const auto width = static_cast<long double>(size.width);
      if (mean.count)
        for (const double v : row) m += v / width;
      for (const double v : row) squares += (v - m) * (v - m) / width;
      const long double rs = 1 / std::sqrt(squares + size.eps);
      for (int64_t c = 0; c < size.width; ++c)
        ys.push_back(static_cast<double>((row[static_cast<std::size_t>(c)] - m) * rs * weight.at(c)) +
                     (bias.count ? bias.at(c) : 0));
      rstds.push_back(static_cast<double>(rs)), means.push_back(static_cast<double>(m));
      sums.insert(sums.end(), row.begin(), row.end());
    }
    std::vector<std::vector<double>> all = {ys, rstds};
    if (mean.count) all.push_back(means);
    if (sum.count) all.push_back(sums);
    return all;
  }
};

struct NormBackward {
  norm_size size;
  NormOptions options;
  Tensor dy, x, weight, mean, rstd, add, dx, weight_gradient, bias_gradient, columns, room;
  Tensor dy_before, add_before, weight_before, bias_before, columns_before;

  NormBackward(int64_t rows, int64_t width, sy_dtype type, NormOptions o)
      : size{rows, width, type, o.rule, 1e-5},
        options(o),
        dy(normal(type, rows * width, 5)),
        x(normal(type, rows * width, 6, 0.5, 2)),
        weight(normal(type, width, 7, 1, 0.2)),
        rstd(normal(wide(type), rows, 9, 0.5, 0.02)) {
    if (o.rule == norm_rule::layer) mean = normal(wide(type), rows, 8, 0.5, 0.1);
    if (o.add) add = normal(type, rows * width, 10);
    if (o.dx && !o.in_place) dx = Tensor(type, rows * width);
    if (o.weight_gradient) weight_gradient = normal(o.gradient, width, 11);
    if (o.bias_gradient) bias_gradient = normal(o.gradient, width, 12);
    if (o.column_sum) columns = normal(o.gradient, width, 13);
    dy_before = dy, add_before = add, weight_before = weight_gradient, bias_before = bias_gradient;
    columns_before = columns;
  }
  Tensor& result() { return !options.in_place ? dx : options.add ? add : dy; }
  const Tensor& result() const { return const_cast<NormBackward*>(this)->result(); }

  void run(Place& place) {
    room = scratch(norm_backward_scratch(place.on, size));
    norm_backward(place.on, size,
                  {.dy = place.at(dy),
                   .x = place.at(x),
                   .weight = place.at(weight),
                   .mean = place.at(mean),
                   .rstd = place.at(rstd),
                   .add = place.at(add),
                   .dx = options.dx ? place.at(result()) : nullptr,
                   .weight_gradient = place.gradient(weight_gradient),
                   .bias_gradient = place.gradient(bias_gradient),
                   .column_sum = place.gradient(columns),
                   .scratch = place.at(room)});
  }
  std::vector<Output> outputs() {
    std::vector<Output> all;
    const double rows = static_cast<double>(size.rows), of_sum = 8 + 4 * std::sqrt(rows);
    if (options.dx) all.push_back({"dx", &result(), 32});
    if (weight_gradient.count) all.push_back({"weight gradient", &weight_gradient, of_sum});
    if (bias_gradient.count) all.push_back({"bias gradient", &bias_gradient, of_sum});
    const double flips = 4 * half_unit(size.type) * std::sqrt(rows);
    if (columns.count) all.push_back({"column sum", &columns, of_sum, options.dx ? 0 : flips, flips});
    return all;
  }
  std::vector<std::vector<double>> expected() const {
    const auto n = static_cast<std::size_t>(size.width);
    std::vector<double> dxs, dw(n), db(n), dc(n);
    const auto start = [&](const Tensor& t, std::vector<double>& to) {
      for (int64_t c = 0; c < t.count; ++c) to[static_cast<std::size_t>(c)] = t.at(c);
    };
    start(weight_before, dw), start(bias_before, db), start(columns_before, dc);
    for (int64_t r = 0; r < size.rows; ++r) {
      const double m = mean.count ? mean.at(r) : 0, rs = rstd.at(r), width = static_cast<double>(size.width);
      long double g_mean = 0, gx_mean = 0;
      for (int64_t c = 0; c < size.width; ++c) {
        const int64_t i = r * size.width + c;
        const double xn = (x.at(i) - m) * rs, g = dy_before.at(i) * weight.at(c);
        g_mean += mean.count ? g / width : 0, gx_mean += g * xn / width;
        dw[static_cast<std::size_t>(c)] += dy_before.at(i) * xn, db[static_cast<std::size_t>(c)] += dy_before.at(i);
      }
      for (int64_t c = 0; c < size.width; ++c) {
        const int64_t i = r * size.width + c;
        const double xn = (x.at(i) - m) * rs, g = dy_before.at(i) * weight.at(c);
        dxs.push_back(rs * static_cast<double>(g - g_mean - xn * gx_mean) + (add_before.count ? add_before.at(i) : 0));
        // of dx as stored, where it was
        dc[static_cast<std::size_t>(c)] += options.dx ? result().at(i) : rounded(dxs.back(), size.type);
      }
    }
    std::vector<std::vector<double>> all;
    if (options.dx) all.push_back(dxs);
    if (weight_gradient.count) all.push_back(dw);
    if (bias_gradient.count) all.push_back(db);
    if (columns.count) all.push_back(dc);
    return all;
  }
};

}  // namespace kernels
