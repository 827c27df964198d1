#include "data/host_tensor.hpp"

#include <new>
#include <utility>

#include "base/error.hpp"

namespace switchyard {
namespace {

constexpr std::align_val_t alignment{256};  // as for parameters: products change their last bits at other offsets

}  // namespace

void HostTensor::Free::operator()(std::byte* memory) const { ::operator delete[](memory, alignment); }

void HostTensor::reset(sy_dtype type, std::vector<std::int64_t> shape) {
  const auto bytes = byte_count(shape, type);
  if (!bytes) throw Error(SY_E_ARGUMENT, "a batch of shape " + shape_text(shape) + " is too large");
  const auto wanted = static_cast<std::size_t>(*bytes);
  if (wanted > capacity_) {
    data_.reset();
    capacity_ = 0;
    data_.reset(static_cast<std::byte*>(::operator new[](wanted, alignment)));
    capacity_ = wanted;
  }
  dtype_ = type;
  shape_ = std::move(shape);
  bytes_ = wanted;
}

}  // namespace switchyard
