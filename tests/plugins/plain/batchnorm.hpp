// BatchNorm (Ioffe and Szegedy 2015) with deferred statistics: each micro-batch is normalised by its own mean and
// variance, the running ones take one step per optimizer step, from all micro-batches merged by Chan's formula (Chan,
// Golub, LeVeque 1979) in accumulators.
#pragma once

#include <cmath>

#include "bound.hpp"

namespace plain {

class BatchNorm : public bound {
 public:
  static constexpr const char* id = "plain_batchnorm";
  static constexpr const char* help =
      "batch norm with deferred statistics: one step of the running ones per optimizer step";
  static constexpr sy_option options[] = {
      sy::i64_option("axis", "1", -8, 7, "dimension of the channels"),
      sy::f64_option("momentum", "0.1", 0, 1, "share of the new statistics"),
      sy::f64_option("eps", "1e-5", 0, 1, "added to the variance"),
  };
  struct saved {
    sy::tensor x;
    sy::tensor statistics;  // fp64 [2, channels]: mean and scale
  };

  explicit BatchNorm(const sy::config& c) : axis_(c.i64("axis")), momentum_(c.f64("momentum")), eps_(c.f64("eps")) {}

  std::vector<sy::port> infer(uint32_t, sy::ports in) {
    expect_inputs(in, 1);
    expect_numbers(*in[0]);
    const int64_t axis = axis_ < 0 ? axis_ + in[0]->ndim : axis_;
    if (axis < 1 || axis >= in[0]->ndim)
      throw sy::fault(SY_E_CONFIG, "axis " + std::to_string(axis_) + " is no dimension");
    learn(channels_, in[0]->shape[axis]);
    return {sy::like(*in[0])};
  }
  std::vector<sy::param> params() const {
    const auto fp32 = uint32_t{SY_CLASS_FP32};
    return {{"weight", {channels_}, "ones", SY_WEIGHT, fp32},
            {"bias", {channels_}, "zeros", SY_WEIGHT, fp32},
            {"running_mean", {channels_}, "zeros", SY_BUFFER, fp32},
            {"running_var", {channels_}, "ones", SY_BUFFER, fp32},
            {"num_batches_tracked", {}, "zeros", SY_BUFFER, SY_CLASS_GIVEN, 0, {}, sy::i64},
            {"batch_count", {1}, "zeros", SY_ACCUMULATOR, fp32},
            {"batch_mean", {channels_}, "zeros", SY_ACCUMULATOR, fp32},
            {"batch_m2", {channels_}, "zeros", SY_ACCUMULATOR, fp32}};
  }
  sy::cost cost(uint32_t, sy::const_ports in) const {
    const auto n = static_cast<double>(elements(*in[0]));
    sy::cost c{8 * n, 8 * n, 2 * n};
    c.bytes_saved = 16 * static_cast<uint64_t>(channels_);
    c.keep_in = 1;
    return c;
  }

  saved forward(const sy_call& call) {
    const sy_view& view = in(call, 0);
    const std::vector<float> x = read(view), w = read(value(weight)), b = read(value(bias));
    saved s{sy::tensor::keep(call.in[0]), sy::new_host_tensor(call, {2, channels_}, sy::f64)};
    double *mean = s.statistics.data<double>(), *scale = mean + channels_;
    statistics(call, view, x, mean, scale);
    std::vector<double> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(view, i);
      y[i] = (x[i] - mean[c]) * scale[c] * w[c] + b[c];
    }
    call.out[0] = made_like(call, view, y);
    return s;
  }

  void backward(const sy_call& call, saved&& s) {
    const sy_view& view = s.x.view();
    const std::vector<float> x = read(view), w = read(value(weight)), dy = read_or_zeros(call.in[0], x.size());
    const double *mean = s.statistics.data<double>(), *scale = mean + channels_;
    const auto channels = static_cast<std::size_t>(channels_);
    std::vector<double> dx(x.size()), dw(channels), db(channels);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(view, i);
      dw[c] += dy[i] * ((x[i] - mean[c]) * scale[c]);
      db[c] += dy[i];
    }
    const double n = static_cast<double>(x.size()) / static_cast<double>(channels_);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(view, i);
      dx[i] = w[c] * scale[c] * (dy[i] - (db[c] + (x[i] - mean[c]) * scale[c] * dw[c]) / n);
    }
    if (wants(call, 0)) call.out[0] = made_like(call, view, dx);
    add_gradient(weight, dw);
    add_gradient(bias, db);
  }

  void finish(const sy_call&) {
    const double n = load(value(batch_count), 0);
    if (n == 0) return;
    for (int64_t c = 0; c < channels_; ++c) {
      step(value(running_mean), c, load(value(batch_mean), c));
      step(value(running_var), c, load(value(batch_m2), c) / std::max(n - 1, 1.0));
    }
    ++*sy::data<int64_t>(value(batches_tracked));
  }

 private:
  enum { weight, bias, running_mean, running_var, batches_tracked, batch_count, batch_mean, batch_m2 };

  std::size_t channel(const sy_view& v, std::size_t element) const {
    const int64_t axis = axis_ < 0 ? axis_ + v.ndim : axis_;
    int64_t inner = 1;
    for (int32_t d = static_cast<int32_t>(axis) + 1; d < v.ndim; ++d) inner *= v.shape[d];
    return element / static_cast<std::size_t>(inner) % static_cast<std::size_t>(channels_);
  }
  void step(const sy_view& running, int64_t c, double batch) const {
    store(running, c, static_cast<float>((1 - momentum_) * load(running, c) + momentum_ * batch));
  }

  /// Mean and 1 / deviation of each channel: the running ones outside training, else this micro-batch's.
  void statistics(const sy_call& call, const sy_view& view, const std::vector<float>& x, double* mean,
                  double* scale) const {
    std::vector<double> m2(static_cast<std::size_t>(channels_));
    const double n = static_cast<double>(x.size()) / static_cast<double>(channels_);
    for (int64_t c = 0; c < channels_; ++c) {
      mean[c] = call.kind == SY_TRAIN ? 0 : load(value(running_mean), c);
      scale[c] = 1 / std::sqrt(load(value(running_var), c) + eps_);
    }
    if (call.kind != SY_TRAIN || x.empty()) return;
    for (std::size_t i = 0; i < x.size(); ++i) mean[channel(view, i)] += x[i];
    for (int64_t c = 0; c < channels_; ++c) mean[c] /= n;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t c = channel(view, i);
      m2[c] += (x[i] - mean[c]) * (x[i] - mean[c]);
    }
    for (int64_t c = 0; c < channels_; ++c) scale[c] = 1 / std::sqrt(m2[static_cast<std::size_t>(c)] / n + eps_);
    if (!(call.flags & SY_CALL_REPLAY)) merge(n, mean, m2);
  }
  void merge(double n, const double* mean, const std::vector<double>& m2) const {
    const double before = load(value(batch_count), 0), all = before + n;
    for (int64_t c = 0; c < channels_; ++c) {
      const double old = load(value(batch_mean), c), difference = mean[c] - old;
      store(value(batch_mean), c, static_cast<float>(old + difference * n / all));
      store(value(batch_m2), c,
            static_cast<float>(load(value(batch_m2), c) + m2[static_cast<std::size_t>(c)] +
                               difference * difference * before * n / all));
    }
    store(value(batch_count), 0, static_cast<float>(all));
  }

  int64_t axis_, channels_ = 0;
  double momentum_, eps_;
};

}  // namespace plain
