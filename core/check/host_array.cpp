#include "check/host_array.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <new>

#include "base/dtype.hpp"
#include "switchyard/random.h"

namespace switchyard::checks {

namespace {

constexpr std::size_t alignment = 256, tail = 64;
constexpr std::byte pattern{0xA5};

std::string number_text(double x) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", x);
  return text;
}

}  // namespace

HostArray::HostArray(Shape shape, sy_dtype type, std::size_t lead)
    : shape_(std::move(shape)), type_(type), count_(static_cast<std::size_t>(switchyard::element_count(shape_))) {
  bytes_ = count_ * type.bits / 8;
  lead_ = lead;
  const std::size_t all = lead_ + bytes_ + tail;
  memory_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(::operator new(all, std::align_val_t(alignment))),
                                       [](std::byte* p) { ::operator delete(p, std::align_val_t(alignment)); });
  std::fill_n(memory_.get(), all, pattern);
  view_ = OwnedView(memory_.get(), {SY_DEVICE_CPU, 0}, type_, shape_);
  const_cast<sy_view&>(view_.get()).byte_offset = lead_;
  zero();
}

std::byte* HostArray::data() const { return memory_.get() + lead_; }

Tensor HostArray::tensor() const {
  auto* owner = new std::shared_ptr<std::byte>(memory_);
  return Tensor::adopt(wrap_tensor(view(), owner, [](void* o) { delete static_cast<std::shared_ptr<std::byte>*>(o); }));
}

bool HostArray::guards_hold() const {
  const auto kept = [](std::byte b) { return b == pattern; };
  return std::all_of(memory_.get(), memory_.get() + lead_, kept) &&
         std::all_of(data() + bytes_, data() + bytes_ + tail, kept);
}

Numbers HostArray::numbers() const {
  Numbers all(count_);
  if (count_ > 0) convert(data(), type_, all.data(), dtype::f64, count_);
  return all;
}

void HostArray::write(const Numbers& numbers) const {
  if (count_ > 0) convert(numbers.data(), dtype::f64, data(), type_, count_);
}

void HostArray::write_at(std::size_t element, double number) const {
  convert(&number, dtype::f64, data() + element * type_.bits / 8, type_, 1);
}

void HostArray::write_id(std::size_t element, int64_t id) const {
  std::memcpy(data() + element * type_.bits / 8, &id, type_.bits / 8);
}

void HostArray::zero() const { std::fill_n(data(), bytes_, std::byte{0}); }

Numbers Named::numbers() const {
  Numbers all(bytes.size() * 8 / type.bits);
  if (!all.empty()) convert(bytes.data(), type, all.data(), dtype::f64, all.size());
  return all;
}

Named copy_of(const std::string& name, const HostArray& array) {
  return {name, array.shape(), array.type(), {array.data(), array.data() + array.bytes()}};
}

Named copy_of(const std::string& name, const sy_view& view) {
  const std::size_t size = view.dtype.bits / 8;
  const auto count = static_cast<std::size_t>(element_count(view));
  Named copy{name, shape_of(view), view.dtype, std::vector<std::byte>(count * size)};
  for (std::size_t i = 0; i < count; ++i) {
    int64_t rest = static_cast<int64_t>(i), offset = 0;
    for (int32_t d = view.ndim; d-- > 0;) {
      offset += rest % view.shape[d] * view.strides[d];
      rest /= view.shape[d];
    }
    std::memcpy(copy.bytes.data() + i * size, data_of(view) + offset * static_cast<int64_t>(size), size);
  }
  return copy;
}

namespace {

std::string difference_of(const Named& a, const Named& b) {
  if (a.shape != b.shape || !same_dtype(a.type, b.type))
    return a.name + " is " + shape_text(a.shape) + " " + dtype_name(a.type) + " and " + shape_text(b.shape) + " " +
           dtype_name(b.type);
  const std::size_t size = a.type.bits / 8;
  for (std::size_t i = 0; i < a.bytes.size(); i += size) {
    if (std::memcmp(&a.bytes[i], &b.bytes[i], size) == 0) continue;
    std::string text = a.name + " differs at element " + std::to_string(i / size);
    if (is_float(a.type))
      text += ": " + number_text(a.numbers()[i / size]) + " and " + number_text(b.numbers()[i / size]);
    return text;
  }
  return "";
}

}  // namespace

std::string difference(const std::vector<Named>& a, const std::vector<Named>& b) {
  if (a.size() != b.size()) return std::to_string(a.size()) + " and " + std::to_string(b.size()) + " tensors";
  for (std::size_t i = 0; i < a.size(); ++i)
    if (const std::string text = difference_of(a[i], b[i]); !text.empty()) return text;
  return "";
}

uint64_t Draw::next() { return sy_mix64(state_++); }

double Draw::number() { return static_cast<double>(next() >> 40) * (2.0 / (1 << 24)) - 1.0; }

int64_t Draw::below(int64_t limit) { return static_cast<int64_t>(next() % static_cast<uint64_t>(limit)); }

Numbers Draw::numbers(std::size_t count) {
  Numbers all(count);
  for (double& x : all) x = number();
  return all;
}

}  // namespace switchyard::checks
