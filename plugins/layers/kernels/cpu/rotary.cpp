#include "../rotary.hpp"

#include "numbers.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

constexpr int most_pairs = 1024;  // whose cosines and sines stand on the stack at a time

/// Turns pairs `first` .. `first + n` of every head of every row at one position.
template <class T>
void turn(int64_t position, int64_t rows, int64_t time, int64_t heads, int64_t head_width, int64_t row_stride,
          int64_t first, int64_t n, const wide_t<T>* cosines, const wide_t<T>* sines, T* x) {
  using W = wide_t<T>;
  for (int64_t row = position; row < rows; row += time)
    for (int64_t h = 0; h < heads; ++h) {
      T *low = x + row * row_stride + h * head_width + first, *high = low + head_width / 2;
      by_lanes<W>(n, [&](int64_t i, int m) {
        const numbers<W> a = load(low + i, m), b = load(high + i, m);
        const numbers<W> c = load(cosines + i, m), s = load(sines + i, m);
        store(low + i, a * c - b * s, m);
        store(high + i, b * c + a * s, m);
      });
    }
}

}  // namespace

void rotate(const lane& on, sy_dtype type, int64_t rows, int64_t time, int64_t heads, int64_t head_width,
            int64_t row_stride, double base, bool back, void* x) {
  const int64_t pairs = head_width / 2;
  with_type(type, [&](auto t) {
    using T = decltype(t);
    using W = wide_t<T>;
    const int64_t per_position = std::max<int64_t>(1, rows / time * heads * head_width);
    each(on, std::min(time, rows), std::max<int64_t>(1, 16384 / per_position), [&](int64_t begin, int64_t end) {
      for (int64_t first = 0; first < pairs; first += most_pairs) {
        const auto n = static_cast<int>(std::min<int64_t>(most_pairs, pairs - first));
        double turns[most_pairs];
        W cosines[most_pairs], sines[most_pairs];
        for (int i = 0; i < n; ++i)
          turns[i] = std::pow(base, -2.0 * static_cast<double>(first + i) / static_cast<double>(head_width));
        for (int64_t position = begin; position < end; ++position) {
          for (int i = 0; i < n; ++i) {
            const double angle = static_cast<double>(position) * turns[i];
            cosines[i] = static_cast<W>(std::cos(angle));
            sines[i] = static_cast<W>(back ? -std::sin(angle) : std::sin(angle));
          }
          turn(position, rows, time, heads, head_width, row_stride, first, n, cosines, sines, static_cast<T*>(x));
        }
      }
    });
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
