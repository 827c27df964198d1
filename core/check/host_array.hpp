// Numbers on the host that are lent to a plugin: their memory is ours, is charged to nobody, and has guards around it.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "base/tensor.hpp"

namespace switchyard::checks {

using Numbers = std::vector<double>;

/// A contiguous array. Copies share the memory.
class HostArray {
 public:
  HostArray() = default;
  /// Zeroes. `lead`: bytes before the first element, which become the view's byte_offset.
  HostArray(Shape shape, sy_dtype type, std::size_t lead = 0);

  const Shape& shape() const { return shape_; }
  sy_dtype type() const { return type_; }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return bytes_; }
  std::byte* data() const;
  const sy_view& view() const { return view_.get(); }
  /// A counted tensor of this memory.
  Tensor tensor() const;
  /// The bytes before and after the elements are what they were.
  bool guards_hold() const;

  /// Elements of a float type, as double; written with one rounding.
  Numbers numbers() const;
  void write(const Numbers& numbers) const;
  void write_at(std::size_t element, double number) const;
  /// Ids, of any integer type.
  void write_id(std::size_t element, int64_t id) const;
  void zero() const;

 private:
  Shape shape_;
  sy_dtype type_{};
  std::size_t count_ = 0, bytes_ = 0, lead_ = 0;
  std::shared_ptr<std::byte> memory_;
  OwnedView view_;
};

/// What a plugin gave or changed, with a name for messages; rows of memory are in row-major order.
struct Named {
  std::string name;  // "output 0", "the gradient of 'weight'"
  Shape shape;
  sy_dtype type{};
  std::vector<std::byte> bytes;
  Numbers numbers() const;  // float types only
};

Named copy_of(const std::string& name, const HostArray& array);
/// Of any strides, on the host.
Named copy_of(const std::string& name, const sy_view& view);

/// The first that differs in shape, type or a bit, in words ("output 0 differs at element 3: 0.5 and 0.25"); "": none.
std::string difference(const std::vector<Named>& a, const std::vector<Named>& b);

/// Numbers from -1 to 1 without a pattern, the same for the same seed.
class Draw {
 public:
  explicit Draw(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}
  double number();               // [-1, 1)
  int64_t below(int64_t limit);  // [0, limit)
  Numbers numbers(std::size_t count);

 private:
  uint64_t next();
  uint64_t state_;
};

}  // namespace switchyard::checks
