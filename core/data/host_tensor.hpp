// A dense tensor in host memory, for batches.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/dtype.hpp"

namespace switchyard {

/// Owns row-major elements that start at a multiple of 256 bytes. Dimension 0 counts samples. Movable.
class HostTensor {
 public:
  HostTensor() = default;
  /// Changes type and shape; the content is undefined afterwards. Memory only grows, so that a batch can be filled
  /// again without allocating. Error SY_E_ARGUMENT: the shape overflows.
  void reset(sy_dtype type, std::vector<std::int64_t> shape);

  sy_dtype dtype() const { return dtype_; }
  const std::vector<std::int64_t>& shape() const { return shape_; }
  std::int64_t rows() const { return shape_.empty() ? 0 : shape_[0]; }
  std::size_t row_bytes() const { return rows() == 0 ? 0 : bytes_ / static_cast<std::size_t>(rows()); }
  std::span<std::byte> bytes() { return {data_.get(), bytes_}; }
  std::span<const std::byte> bytes() const { return {data_.get(), bytes_}; }
  /// The elements as T, whose size is that of dtype().
  template <class T>
  std::span<T> values() {
    return {reinterpret_cast<T*>(data_.get()), bytes_ / sizeof(T)};
  }
  template <class T>
  std::span<const T> values() const {
    return {reinterpret_cast<const T*>(data_.get()), bytes_ / sizeof(T)};
  }

 private:
  struct Free {
    void operator()(std::byte* memory) const;
  };
  sy_dtype dtype_{};
  std::vector<std::int64_t> shape_;
  std::size_t bytes_ = 0;
  std::size_t capacity_ = 0;
  std::unique_ptr<std::byte[], Free> data_;
};

}  // namespace switchyard
