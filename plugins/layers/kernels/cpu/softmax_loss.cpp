#include "../softmax_loss.hpp"

#include <limits>

#include "../whole.hpp"
#include "functions.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

template <class W>
constexpr W lowest = -std::numeric_limits<W>::infinity();

template <class T>
wide_t<T> largest_in(const T* row, int64_t n) {
  using W = wide_t<T>;
  numbers<W> most(lowest<W>);
  by_lanes<W>(n, [&](int64_t i, int m) { most = larger(most, first(load(row + i, m), m, lowest<W>)); });
  return largest_of(most);
}

/// Sum of exp(x - most); the terms take the place of x where `keeps`.
template <class T, bool keeps>
wide_t<T> sum_of_powers(T* row, int64_t n, wide_t<T> most) {
  using W = wide_t<T>;
  numbers<W> total(0);
  by_lanes<W>(n, [&](int64_t i, int m) {
    const numbers<W> term = exp_of(load(row + i, m) - numbers<W>(most));
    if (keeps) store(row + i, term, m);
    total += first(term, m);
  });
  return sum_of(total);
}

/// 1 where the target is the first of the largest.
template <class T>
double is_right(const T* row, int64_t n, int64_t target) {
  using W = wide_t<T>;
  const auto at = [&](int64_t i) {
    numbers<W> v = load(row + i, 1);
    W one;
    std::memcpy(&one, &v, sizeof one);
    return one;
  };
  const W value = at(target);
  if (largest_in(row, n) > value) return 0;
  for (int64_t i = 0; i < target; ++i)
    if (at(i) == value) return 0;
  return 1;
}

template <class T>
void one_row(const softmax_loss_data& d, int64_t index) {
  using W = wide_t<T>;
  constexpr bool keeps = sizeof(T) > 2;  // exp(x) in place of x, where that rounds nothing
  T* row = static_cast<T*>(d.logits) + index * d.classes;
  const int64_t target = whole_at(d.targets, d.target_type, index);
  const bool ignored = d.ignores && target == d.ignore, outside = target < 0 || target >= d.classes;
  if (d.right) d.right[index] = ignored || outside ? 0 : is_right(row, d.classes, target);
  if (ignored) {
    d.losses[index] = 0;
    if (d.gradient) std::memset(row, 0, static_cast<std::size_t>(d.classes) * sizeof(T));
    return;
  }
  const W most = largest_in(row, d.classes);
  W logit = std::numeric_limits<W>::quiet_NaN();
  if (!outside) {
    const numbers<W> v = load(row + target, 1);
    std::memcpy(&logit, &v, sizeof logit);
  }
  const bool in_place = keeps && d.gradient;
  const W total =
      in_place ? sum_of_powers<T, keeps>(row, d.classes, most) : sum_of_powers<T, false>(row, d.classes, most);
  d.losses[index] = std::log(static_cast<double>(total)) + (static_cast<double>(most) - static_cast<double>(logit));
  if (!d.gradient) return;

  const W scale = static_cast<W>(d.weight) / total;
  const auto gradient = [&](int64_t i, int m) {
    const numbers<W> x = load(row + i, m);
    return (keeps ? x : exp_of(x - numbers<W>(most))) * numbers<W>(scale);
  };
  W at_target = 0;
  if (!outside) {
    const numbers<W> v = gradient(target, 1) - numbers<W>(static_cast<W>(d.weight));
    std::memcpy(&at_target, &v, sizeof at_target);
  }
  by_lanes<W>(d.classes, [&](int64_t i, int m) { store(row + i, gradient(i, m), m); });
  if (!outside) store(row + target, numbers<W>(at_target), 1);
}

}  // namespace

void softmax_loss(const lane& on, const softmax_loss_data& data) {
  with_type(data.type, [&](auto t) {
    each(on, data.rows, std::max<int64_t>(1, 8192 / data.classes), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) one_row<decltype(t)>(data, row);
    });
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
