// Counted tensors: the only kind of object that crosses the border between core and plugins with a lifetime of its own.
#pragma once

#include <atomic>
#include <cstdint>
#include <utility>
#include <vector>

#include "switchyard/base.h"

/// A view, its owner, and how to release the owner. Made by the core only.
struct sy_tensor {
  std::atomic<int64_t> count{1};
  sy_view view{};
  int64_t shape[8]{};
  int64_t strides[8]{};
  void* owner = nullptr;
  void (*drop)(void*) = nullptr;
};

namespace switchyard {

/// Copies the view (shape and strides too; strides may be NULL: contiguous) and takes the owner. Throws Error
/// (SY_E_ARGUMENT) for more than 8 dimensions, a negative one, or over 2^63 elements; the owner is dropped then too.
/// [any]
sy_tensor* wrap_tensor(const sy_view& view, void* owner, void (*drop)(void*));
void keep_tensor(sy_tensor*);
void drop_tensor(sy_tensor*);

/// A counted reference. [any]
class Tensor {
 public:
  Tensor() = default;
  static Tensor adopt(sy_tensor* t) {
    Tensor r;
    r.t_ = t;
    return r;
  }
  static Tensor keep(sy_tensor* t) {
    if (t) keep_tensor(t);
    return adopt(t);
  }
  Tensor(const Tensor& o) : Tensor(keep(o.t_)) {}
  Tensor(Tensor&& o) noexcept : t_(std::exchange(o.t_, nullptr)) {}
  Tensor& operator=(Tensor o) noexcept {
    std::swap(t_, o.t_);
    return *this;
  }
  ~Tensor() { drop_tensor(t_); }

  sy_tensor* get() const { return t_; }
  sy_tensor* release() { return std::exchange(t_, nullptr); }
  void reset() { *this = Tensor(); }
  const sy_view& view() const { return t_->view; }
  explicit operator bool() const { return t_ != nullptr; }

 private:
  sy_tensor* t_ = nullptr;
};

using Shape = std::vector<int64_t>;

inline Shape shape_of(const sy_view& v) { return {v.shape, v.shape + v.ndim}; }
int64_t element_count(const sy_view& v);
int64_t element_count(const Shape& shape);
bool is_contiguous(const sy_view& v);
/// Row-major strides in elements.
Shape contiguous_strides(const Shape& shape);
inline uint64_t byte_count(const sy_view& v) { return static_cast<uint64_t>(element_count(v)) * v.dtype.bits / 8; }
inline char* data_of(const sy_view& v) { return static_cast<char*>(v.data) + v.byte_offset; }
inline bool same_dtype(sy_dtype a, sy_dtype b) { return a.code == b.code && a.bits == b.bits && a.lanes == b.lanes; }
inline bool same_device(sy_device a, sy_device b) { return a.type == b.type && a.index == b.index; }

/// A view with storage for its own shape and strides, for memory that somebody else owns.
class OwnedView {
 public:
  OwnedView() = default;
  OwnedView(void* data, sy_device device, sy_dtype dtype, Shape shape);
  const sy_view& get() const {
    view_.shape = shape_.data();
    view_.strides = strides_.data();
    return view_;
  }

 private:
  mutable sy_view view_{};
  mutable Shape shape_, strides_;
};

}  // namespace switchyard
