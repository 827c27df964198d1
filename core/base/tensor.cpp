#include "base/tensor.hpp"

#include <algorithm>
#include <new>
#include <string>

#include "base/error.hpp"

namespace switchyard {

namespace {

/// What is wrong with a view; empty: nothing.
std::string mistake_in(const sy_view& v) {
  if (v.ndim < 0 || v.ndim > 8) return std::to_string(v.ndim) + " dimensions; at most 8 are possible";
  if (v.ndim > 0 && !v.shape) return std::to_string(v.ndim) + " dimensions but no shape";
  int64_t n = 1;
  for (int32_t i = 0; i < v.ndim; ++i) {
    if (v.shape[i] < 0) return "a negative dimension (" + std::to_string(v.shape[i]) + ")";
    if (__builtin_mul_overflow(n, std::max<int64_t>(v.shape[i], 1), &n)) return "more than 2^63 elements";
  }
  return "";
}

}  // namespace

sy_tensor* wrap_tensor(const sy_view& view, void* owner, void (*drop)(void*)) {
  const std::string mistake = mistake_in(view);
  auto* t = mistake.empty() ? new (std::nothrow) sy_tensor : nullptr;
  if (!t) {
    if (drop) drop(owner);
    if (mistake.empty()) throw std::bad_alloc();
    throw Error(SY_E_ARGUMENT, "a tensor of " + mistake);
  }
  t->view = view;
  std::copy_n(view.shape, view.ndim, t->shape);
  if (view.strides) {
    std::copy_n(view.strides, view.ndim, t->strides);
  } else {
    int64_t n = 1;
    for (int32_t i = view.ndim; i-- > 0; n *= t->shape[i]) t->strides[i] = n;
  }
  t->view.shape = t->shape;
  t->view.strides = t->strides;
  t->owner = owner;
  t->drop = drop;
  return t;
}

void keep_tensor(sy_tensor* t) { t->count.fetch_add(1, std::memory_order_relaxed); }

void drop_tensor(sy_tensor* t) {
  if (!t || t->count.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (t->drop) t->drop(t->owner);
  delete t;
}

int64_t element_count(const sy_view& v) {
  int64_t n = 1;
  for (int32_t i = 0; i < v.ndim; ++i) n *= v.shape[i];
  return n;
}

int64_t element_count(const Shape& shape) {
  int64_t n = 1;
  for (const int64_t d : shape) n *= d;
  return n;
}

bool is_contiguous(const sy_view& v) {
  int64_t n = 1;
  for (int32_t i = v.ndim; i-- > 0; n *= v.shape[i])
    if (v.shape[i] != 1 && v.strides[i] != n) return element_count(v) == 0;
  return true;
}

Shape contiguous_strides(const Shape& shape) {
  Shape strides(shape.size());
  int64_t n = 1;
  for (std::size_t i = shape.size(); i-- > 0; n *= shape[i]) strides[i] = n;
  return strides;
}

OwnedView::OwnedView(void* data, sy_device device, sy_dtype dtype, Shape shape)
    : view_{data, device, static_cast<int32_t>(shape.size()), dtype, nullptr, nullptr, 0},
      shape_(std::move(shape)),
      strides_(contiguous_strides(shape_)) {}

}  // namespace switchyard
