#pragma once

#include "kernels/rotary.hpp"
#include "tensor.hpp"

namespace kernels {

struct Rotate {
  int64_t rows, time, heads, head_width, row_stride;
  bool back;
  double base = 10000;
  Tensor x, before;

  Rotate(int64_t batch, int64_t time, int64_t heads, int64_t head_width, sy_dtype type, bool back, int64_t rest = 5)
      : rows(batch * time),
        time(time),
        heads(heads),
        head_width(head_width),
        row_stride(heads * head_width + rest),
        back(back),
        x(normal(type, rows * row_stride, 61)),
        before(x) {}
  void run(Place& place) {
    rotate(place.on, x.type, rows, time, heads, head_width, row_stride, base, back, place.at(x));
  }
  /// An angle is known to its own rounding, which grows with the position.
  std::vector<Output> outputs() { return {{"x", &x, 8.0 + static_cast<double>(time)}}; }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> all;
    for (int64_t i = 0; i < before.count; ++i) {
      const int64_t row = i / row_stride, column = i % row_stride, d = column % head_width, half = head_width / 2;
      if (column >= heads * head_width) {
        all.push_back(before.at(i));
        continue;
      }
      const double turn = std::pow(base, -2.0 * static_cast<double>(d % half) / static_cast<double>(head_width));
      const double angle = static_cast<double>(row % time) * turn * (back ? -1 : 1);
      const double c = std::cos(angle), s = std::sin(angle);
      all.push_back(d < half ? before.at(i) * c - before.at(i + half) * s : before.at(i) * c + before.at(i - half) * s);
    }
    return {all};
  }
};

}  // namespace kernels
