#include "../pointwise.hpp"

#include "column_walk.hpp"
#include "functions.hpp"
#include "twins.hpp"

namespace sy::kernels::SY_KERNELS_FOR {
namespace {

// Each has value(x), and slope(kept), where kept is x or y as reads_output says.

struct relu {
  template <class W>
  SY_INLINE static numbers<W> value(numbers<W> x) {
    return numbers<W>::each([](auto v) { return v < 0 ? v - v : v; }, x);
  }
  template <class W>
  SY_INLINE static numbers<W> slope(numbers<W> y) {
    return numbers<W>::each([](auto v) { return v > 0 ? v - v + 1 : v - v; }, y);
  }
};
struct gelu {
  template <class W>
  SY_INLINE static numbers<W> value(numbers<W> x) {
    return x * normal_of(x).cumulative;
  }
  template <class W>
  SY_INLINE static numbers<W> slope(numbers<W> x) {
    const normal<W> n = normal_of(x);
    return n.cumulative + x * n.density;
  }
};
/// x / 2 (1 + tanh u) = x sigmoid(2 u) with 2 u = 2 sqrt(2 / pi) (x + 0.044715 x^3).
struct gelu_tanh {
  static constexpr double twice = 1.5957691216057308, cubic = 0.044715;
  template <class W>
  SY_INLINE static numbers<W> value(numbers<W> x) {
    return x * sigmoid_of(x * (numbers<W>(W(twice)) + numbers<W>(W(twice * cubic)) * x * x));
  }
  template <class W>
  SY_INLINE static numbers<W> slope(numbers<W> x) {
    const numbers<W> square = x * x, s = sigmoid_of(x * (numbers<W>(W(twice)) + numbers<W>(W(twice * cubic)) * square));
    const numbers<W> inner = numbers<W>(W(twice)) + numbers<W>(W(3 * twice * cubic)) * square;
    return s + x * s * (numbers<W>(1) - s) * inner;
  }
};
struct silu {
  template <class W>
  SY_INLINE static numbers<W> value(numbers<W> x) {
    return x * sigmoid_of(x);
  }
  template <class W>
  SY_INLINE static numbers<W> slope(numbers<W> x) {
    const numbers<W> s = sigmoid_of(x);
    return s * (numbers<W>(1) + x * (numbers<W>(1) - s));
  }
};
struct hyperbolic {
  template <class W>
  SY_INLINE static numbers<W> value(numbers<W> x) {
    return tanh_of(x);
  }
  template <class W>
  SY_INLINE static numbers<W> slope(numbers<W> y) {
    return numbers<W>(1) - y * y;
  }
};
struct logistic {
  template <class W>
  SY_INLINE static numbers<W> value(numbers<W> x) {
    return sigmoid_of(x);
  }
  template <class W>
  SY_INLINE static numbers<W> slope(numbers<W> y) {
    return y * (numbers<W>(1) - y);
  }
};

template <class Run>
void with_function(function f, const Run& run) {
  switch (f) {
    case function::relu:
      return run(relu());
    case function::gelu:
      return run(gelu());
    case function::gelu_tanh:
      return run(gelu_tanh());
    case function::silu:
      return run(silu());
    case function::tanh:
      return run(hyperbolic());
    case function::sigmoid:
      return run(logistic());
  }
}

/// body(i, lanes) over n elements, by threads in parts that begin at whole lanes.
template <class W, class Body>
void over_elements(const lane& on, int64_t n, const Body& body) {
  constexpr int64_t lanes = numbers<W>::lanes;
  each(on, (n + lanes - 1) / lanes, 512, [&](int64_t begin, int64_t end) {
    const int64_t first = begin * lanes;
    by_lanes<W>(std::min(n, end * lanes) - first, [&](int64_t i, int m) { body(first + i, m); });
  });
}

}  // namespace

void activate(const lane& on, function f, sy_dtype type, int64_t n, const void* x, void* y) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const T* from = static_cast<const T*>(x);
    T* to = static_cast<T*>(y);
    with_function(f, [&](auto rule) {
      over_elements<wide_t<T>>(on, n, [&](int64_t i, int m) { store(to + i, rule.value(load(from + i, m)), m); });
    });
  });
}

void activate_backward(const lane& on, function f, sy_dtype type, int64_t rows, int64_t columns, const void* dy,
                       const void* kept, void* dx, sum bias_gradient, void* scratch) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const T *from = static_cast<const T*>(dy), *at = static_cast<const T*>(kept);
    T* to = static_cast<T*>(dx);
    with_function(f, [&](auto rule) {
      const auto nothing = [](int64_t) {};
      column_walk<wide_t<T>>(on, rows, columns, bias_gradient, scratch, nothing,
                             [&](int64_t row, int64_t column, int m) {
                               const int64_t i = row * columns + column;
                               const auto v = load(from + i, m) * rule.slope(load(at + i, m));
                               store(to + i, v, m);
                               return as_stored<T>(v);
                             });
    });
  });
}

void swiglu(const lane& on, sy_dtype type, int64_t n, const void* gate, const void* up, void* y) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const T *g = static_cast<const T*>(gate), *u = static_cast<const T*>(up);
    T* to = static_cast<T*>(y);
    over_elements<wide_t<T>>(on, n,
                             [&](int64_t i, int m) { store(to + i, silu::value(load(g + i, m)) * load(u + i, m), m); });
  });
}

void swiglu_backward(const lane& on, sy_dtype type, int64_t n, const void* dy, const void* gate, const void* up,
                     void* dgate, void* dup) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    using W = wide_t<T>;
    const T *d = static_cast<const T*>(dy), *g = static_cast<const T*>(gate), *u = static_cast<const T*>(up);
    T *to_gate = static_cast<T*>(dgate), *to_up = static_cast<T*>(dup);
    over_elements<W>(on, n, [&](int64_t i, int m) {
      const numbers<W> di = load(d + i, m), gi = load(g + i, m), ui = load(u + i, m), s = sigmoid_of(gi);
      store(to_gate + i, di * ui * (s * (numbers<W>(1) + gi * (numbers<W>(1) - s))), m);
      store(to_up + i, di * gi * s, m);
    });
  });
}

void add(const lane& on, sy_dtype type, int64_t n, const void* a, const void* b, void* y) {
  with_type(type, [&](auto t) {
    using T = decltype(t);
    const T *x = static_cast<const T*>(a), *more = static_cast<const T*>(b);
    T* to = static_cast<T*>(y);
    over_elements<wide_t<T>>(on, n, [&](int64_t i, int m) { store(to + i, load(x + i, m) + load(more + i, m), m); });
  });
}

}  // namespace sy::kernels::SY_KERNELS_FOR
