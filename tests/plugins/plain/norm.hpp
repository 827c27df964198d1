// Layer norm over the last dimension (Ba, Kiros, Hinton 2016).
#pragma once

#include <cmath>

#include "bound.hpp"

namespace plain {

class Norm : public bound {
 public:
  static constexpr const char* id = "plain_norm";
  static constexpr const char* help = "layer norm over the last dimension";
  static constexpr sy_option options[] = {sy::f64_option("eps", "1e-5", 0, 1, "added to the variance")};
  struct saved {
    sy::tensor x;
    sy::tensor statistics;  // fp64 [2, n]: mean and scale of each of the n rows
  };

  explicit Norm(const sy::config& c) : eps_(c.f64("eps")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_numbers(*in[0]);
    learn(width_, in[0]->shape[in[0]->ndim - 1]);
    return {sy::like(*in[0])};
  }
  std::vector<sy::param> params() const { return {{"weight", {width_}, "ones"}, {"bias", {width_}, "zeros"}}; }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const auto n = static_cast<double>(elements(*in[0]));
    sy::cost c{8 * n, 8 * n, 2 * n};
    c.bytes_saved = 16 * elements(*in[0]) / static_cast<uint64_t>(width_);
    c.keep_in = 1;
    return c;
  }
  saved forward(const sy_call& call) {
    const std::vector<float> x = read(in(call, 0)), w = read(value(0)), b = read(value(1));
    const auto width = static_cast<std::size_t>(width_);
    const auto rows = static_cast<int64_t>(x.size() / width);
    saved s{sy::tensor::keep(call.in[0]), sy::new_host_tensor(call, {2, rows}, sy::f64)};
    double *means = s.statistics.data<double>(), *scales = means + rows;
    std::vector<double> y(x.size());
    for (std::size_t r = 0; r < x.size() / width; ++r) {
      double mean = 0, variance = 0;
      for (std::size_t c = 0; c < width; ++c) mean += x[r * width + c];
      mean /= static_cast<double>(width);
      for (std::size_t c = 0; c < width; ++c) variance += (x[r * width + c] - mean) * (x[r * width + c] - mean);
      const double scale = 1 / std::sqrt(variance / static_cast<double>(width) + eps_);
      for (std::size_t c = 0; c < width; ++c) y[r * width + c] = (x[r * width + c] - mean) * scale * w[c] + b[c];
      means[r] = mean;
      scales[r] = scale;
    }
    call.out[0] = made_like(call, in(call, 0), y);
    return s;
  }
  void backward(const sy_call& call, saved&& s) {
    const std::vector<float> x = read(s.x.view()), w = read(value(0)), dy = read_or_zeros(call.in[0], x.size());
    const auto width = static_cast<std::size_t>(width_);
    const int64_t rows = s.statistics.view().shape[1];
    const double *mean = s.statistics.data<double>(), *scale = mean + rows;
    std::vector<double> dx(x.size()), dw(width), db(width);
    for (std::size_t r = 0; r < static_cast<std::size_t>(rows); ++r) {
      double sum = 0, product = 0;  // means of dy * w and of dy * w * normalised x
      for (std::size_t c = 0; c < width; ++c) {
        const double normalised = (x[r * width + c] - mean[r]) * scale[r], d = dy[r * width + c];
        dw[c] += d * normalised;
        db[c] += d;
        sum += d * w[c];
        product += d * w[c] * normalised;
      }
      for (std::size_t c = 0; c < width; ++c) {
        const double normalised = (x[r * width + c] - mean[r]) * scale[r];
        const double d = static_cast<double>(dy[r * width + c]) * w[c];
        dx[r * width + c] = scale[r] * (d - (sum + normalised * product) / static_cast<double>(width));
      }
    }
    if (wants(call, 0)) call.out[0] = made_like(call, s.x.view(), dx);
    add_gradient(0, dw);
    add_gradient(1, db);
  }

 private:
  double eps_;
  int64_t width_ = 0;
};

}  // namespace plain
