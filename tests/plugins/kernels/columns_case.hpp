// column_sum, and pack of q, k, v with strides of their own.
#pragma once

#include "kernels/columns.hpp"
#include "tensor.hpp"

namespace kernels {

struct ColumnSum {
  int64_t rows, columns;
  Tensor x, to, before, room;

  ColumnSum(int64_t rows, int64_t columns, sy_dtype type, sy_dtype gradient)
      : rows(rows),
        columns(columns),
        x(normal(type, rows * columns, 21)),
        to(normal(gradient, columns, 22)),
        before(to) {}
  void run(Place& place) {
    room = scratch(column_sum_scratch(place.on, x.type, rows, columns));
    column_sum(place.on, x.type, rows, columns, place.at(x), place.gradient(to), place.at(room));
  }
  std::vector<Output> outputs() { return {{"sum", &to, 8 + 4 * std::sqrt(static_cast<double>(rows))}}; }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> sums;
    for (int64_t c = 0; c < columns; ++c) {
      sums.push_back(before.at(c));
      for (int64_t r = 0; r < rows; ++r) sums.back() += x.at(r * columns + c);
    }
    return {sums};
  }
};

/// q with all heads, k and v with fewer; q as [batch, heads, time, width], k with two elements between its heads, v as
/// [batch, time, heads, width].
struct Pack {
  int64_t batch, time, heads, kv_heads, head_width, gap, columns;
  Tensor q, k, v, to, bias, before, room;

  Pack(int64_t batch, int64_t time, int64_t heads, int64_t kv_heads, int64_t head_width, sy_dtype type,
       sy_dtype gradient, bool with_bias, int64_t gap = 2)
      : batch(batch),
        time(time),
        heads(heads),
        kv_heads(kv_heads),
        head_width(head_width),
        gap(gap),
        columns((heads + 2 * kv_heads) * head_width),
        q(normal(type, batch * heads * time * head_width, 31)),
        k(normal(type, batch * kv_heads * (time * head_width + gap), 32)),
        v(normal(type, batch * time * kv_heads * head_width, 33)),
        to(type, batch * time * columns) {
    if (with_bias) bias = normal(gradient, columns, 34);
    before = bias;
  }
  std::vector<packed_part> parts(const void* q_at, const void* k_at, const void* v_at) const {
    const int64_t k_head = time * head_width + gap;
    return {{q_at, heads, heads * time * head_width, head_width, time * head_width},
            {k_at, kv_heads, kv_heads * k_head, head_width, k_head},
            {v_at, kv_heads, time * kv_heads * head_width, kv_heads * head_width, head_width}};
  }
  void run(Place& place) {
    room = scratch(column_sum_scratch(place.on, q.type, batch * time, columns));
    const std::vector<packed_part> all = parts(place.at(q), place.at(k), place.at(v));
    pack(place.on, q.type, batch * time, time, head_width, all.data(), 3, place.at(to), place.gradient(bias),
         place.at(room));
  }
  std::vector<Output> outputs() {
    std::vector<Output> all = {{"packed", &to, 0}};
    if (bias.count) all.push_back({"bias gradient", &bias, 8 + 4 * std::sqrt(static_cast<double>(batch * time))});
    return all;
  }
  std::vector<std::vector<double>> expected() const {
    std::vector<double> packed, sums;
    const Tensor* from[] = {&q, &k, &v};
    const std::vector<packed_part> all = parts(nullptr, nullptr, nullptr);
    for (int64_t c = 0; c < bias.count; ++c) sums.push_back(before.at(c));
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = 0; t < time; ++t) {
        int64_t c = 0;
        for (std::size_t p = 0; p < 3; ++p)
          for (int64_t h = 0; h < all[p].heads; ++h)
            for (int64_t d = 0; d < head_width; ++d, ++c) {
              packed.push_back(
                  from[p]->at(b * all[p].outer_stride + t * all[p].inner_stride + h * all[p].head_stride + d));
              if (bias.count) sums[static_cast<std::size_t>(c)] += packed.back();
            }
      }
    if (!bias.count) return {packed};
    return {packed, sums};
  }
};

}  // namespace kernels
