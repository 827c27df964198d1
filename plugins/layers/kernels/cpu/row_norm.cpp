#include "../row_norm.hpp"

#include "../row_groups.hpp"
#include "numbers.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

template <class T>
const T* row_of(const void* data, int64_t row, int64_t width) {
  return data ? static_cast<const T*>(data) + row * width : nullptr;
}
template <class T>
T* row_of(void* data, int64_t row, int64_t width) {
  return data ? static_cast<T*>(data) + row * width : nullptr;
}

/// value(i, lanes): what is normalised.
template <class T, class Value>
SY_INLINE void normalise(const norm_size& size, const norm_forward_data& d, int64_t row, const Value& value) {
  using W = wide_t<T>;
  const auto width = static_cast<W>(size.width);
  W mean = 0;
  if (size.rule == norm_rule::layer) {
    numbers<W> total(0);
    by_lanes<W>(size.width, [&](int64_t i, int m) { total += value(i, m); });
    mean = sum_of(total) / width;
  }
  numbers<W> squares(0);
  by_lanes<W>(size.width, [&](int64_t i, int m) {
    const numbers<W> apart = first(value(i, m) - numbers<W>(mean), m);
    squares += apart * apart;
  });
  const W rstd = 1 / std::sqrt(sum_of(squares) / width + static_cast<W>(size.eps));
  if (d.mean) static_cast<W*>(d.mean)[row] = mean;
  static_cast<W*>(d.rstd)[row] = rstd;

  const T *weight = static_cast<const T*>(d.weight), *bias = static_cast<const T*>(d.bias);
  T* y = row_of<T>(d.y, row, size.width);
  by_lanes<W>(size.width, [&](int64_t i, int m) {
    numbers<W> v = (value(i, m) - numbers<W>(mean)) * numbers<W>(rstd) * load(weight + i, m);
    if (bias) v += load(bias + i, m);
    store(y + i, v, m);
  });
}

template <class T>
void forward_row(const norm_size& size, const norm_forward_data& d, int64_t row) {
  using W = wide_t<T>;
  const T *x = row_of<T>(d.x, row, size.width), *residual = row_of<T>(d.residual, row, size.width);
  T* sum = row_of<T>(d.sum, row, size.width);
  if (!residual) return normalise<T>(size, d, row, [&](int64_t i, int m) { return load(x + i, m); });
  const auto both = [&](int64_t i, int m) { return as_stored<T>(load(x + i, m) + load(residual + i, m)); };
  if (!sum) return normalise<T>(size, d, row, both);
  by_lanes<W>(size.width, [&](int64_t i, int m) { store(sum + i, both(i, m), m); });
  normalise<T>(size, d, row, [&](int64_t i, int m) { return load(sum + i, m); });
}

/// The sums of one group of rows, [width] each.
template <class W>
struct partial_sums {
  W *weight, *bias, *column;
};

template <class T, bool layer>
SY_INLINE void backward_row(const norm_size& size, const norm_backward_data& d, int64_t row,
                            const partial_sums<wide_t<T>>& to) {
  using W = wide_t<T>;
  const T *dy = row_of<T>(d.dy, row, size.width), *x = row_of<T>(d.x, row, size.width);
  const T *add = row_of<T>(d.add, row, size.width), *weight = static_cast<const T*>(d.weight);
  const numbers<W> mean(layer ? static_cast<const W*>(d.mean)[row] : W(0)), rstd(static_cast<const W*>(d.rstd)[row]);

  numbers<W> sum_g(0), sum_gx(0);
  by_lanes<W>(size.width, [&](int64_t i, int m) {
    const numbers<W> dyi = load(dy + i, m), normal = (load(x + i, m) - mean) * rstd, g = dyi * load(weight + i, m);
    if (layer) sum_g += g;
    sum_gx += g * normal;
    if (to.weight) store(to.weight + i, load(to.weight + i, m) + dyi * normal, m);
    if (to.bias) store(to.bias + i, load(to.bias + i, m) + dyi, m);
  });
  if (!d.dx && !to.column) return;

  const numbers<W> width(static_cast<W>(size.width));
  const numbers<W> mean_g = layer ? numbers<W>(sum_of(sum_g)) / width : numbers<W>(0);
  const numbers<W> mean_gx = numbers<W>(sum_of(sum_gx)) / width;
  T* dx = row_of<T>(d.dx, row, size.width);
  by_lanes<W>(size.width, [&](int64_t i, int m) {
    const numbers<W> normal = (load(x + i, m) - mean) * rstd, g = load(dy + i, m) * load(weight + i, m);
    numbers<W> v = rstd * (layer ? g - mean_g - normal * mean_gx : g - normal * mean_gx);
    if (add) v += load(add + i, m);
    if (dx) store(dx + i, v, m);
    if (to.column) store(to.column + i, load(to.column + i, m) + as_stored<T>(v), m);
  });
}

template <class T, bool layer>
void backward(const lane& on, const norm_size& size, const norm_backward_data& d) {
  using W = wide_t<T>;
  const row_groups groups = cpu_groups(size.rows);
  const bool sums = d.weight_gradient || d.bias_gradient || d.column_sum;
  W* scratch = static_cast<W*>(d.scratch);
  // each group holds three rows of sums: of the weight, of the bias, of columns
  const auto at = [&](int64_t group, int64_t which) { return scratch + (3 * group + which) * size.width; };
  each(on, groups.count, rows_at_once(groups.each * size.width), [&](int64_t begin, int64_t end) {
    for (int64_t group = begin; group < end; ++group) {
      const partial_sums<W> to = {d.weight_gradient ? at(group, 0) : nullptr, d.bias_gradient ? at(group, 1) : nullptr,
                                  d.column_sum ? at(group, 2) : nullptr};
      if (sums) std::memset(at(group, 0), 0, static_cast<std::size_t>(3 * size.width) * sizeof(W));
      const int64_t last = std::min(size.rows, (group + 1) * groups.each);
      for (int64_t row = group * groups.each; row < last; ++row) backward_row<T, layer>(size, d, row, to);
    }
  });
  if (!sums) return;
  const sum to[3] = {d.weight_gradient, d.bias_gradient, d.column_sum};
  each(on, size.width, 4096, [&](int64_t begin, int64_t end) {
    for (int64_t which = 0; which < 3; ++which) {
      if (!to[which]) continue;
      for (int64_t group = 1; group < groups.count; ++group)
        by_lanes<W>(end - begin, [&](int64_t i, int m) {
          W* total = at(0, which) + begin + i;
          store(total, load(total, m) + load(at(group, which) + begin + i, m), m);
        });
      add_to(to[which], begin, end - begin, at(0, which) + begin);
    }
  });
}

}  // namespace

void norm_forward(const lane& on, const norm_size& size, const norm_forward_data& data) {
  with_type(size.type, [&](auto t) {
    each(on, size.rows, rows_at_once(size.width), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) forward_row<decltype(t)>(size, data, row);
    });
  });
}

void norm_backward(const lane& on, const norm_size& size, const norm_backward_data& data) {
  with_type(size.type, [&](auto t) {
    if (size.rule == norm_rule::layer)
      backward<decltype(t), true>(on, size, data);
    else
      backward<decltype(t), false>(on, size, data);
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
