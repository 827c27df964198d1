#include "api/batch.hpp"

#include <cstring>

#include "api/call.hpp"
#include "base/tensor.hpp"
#include "data/batch_check.hpp"

namespace switchyard::api {

namespace {

void check_view(const sy_view& view, const std::string& what) {
  const auto refuse = [&](const std::string& text) { throw Error(SY_E_ARGUMENT, what + ": " + text); };
  if (view.device.type != SY_DEVICE_CPU) refuse("the view lies on a device; copy it to the host first");
  if (view.ndim < 1 || view.ndim > 8)
    refuse("a view of " + std::to_string(view.ndim) + " dimensions; wanted 1 to 8, of which the first counts samples");
  if (!view.shape) refuse("shape is NULL");
  if (!is_known(view.dtype)) refuse("elements of " + dtype_name(view.dtype) + " are not known");
  const auto count = element_count(std::span<const int64_t>(view.shape, static_cast<std::size_t>(view.ndim)));
  if (!count) refuse("the shape " + shape_text({view.shape, static_cast<std::size_t>(view.ndim)}) + " is none");
  if (*count > 0 && !view.data) refuse("data is NULL");
}

/// Copies dimension `d` and those behind it, row-major.
void gather(const sy_view& view, const Shape& strides, int d, const char* from, std::size_t element, char*& to) {
  if (d == view.ndim) {
    std::memcpy(to, from, element);
    to += element;
    return;
  }
  for (int64_t i = 0; i < view.shape[d]; ++i)
    gather(view, strides, d + 1, from + i * strides[d] * static_cast<int64_t>(element), element, to);
}

/// The elements in their own type, without gaps.
HostTensor dense(const sy_view& view) {
  HostTensor tensor;
  tensor.reset(view.dtype, shape_of(view));
  if (tensor.bytes().empty()) return tensor;
  const Shape strides =
      view.strides ? Shape(view.strides, view.strides + view.ndim) : contiguous_strides(shape_of(view));
  auto* to = reinterpret_cast<char*>(tensor.bytes().data());
  if (strides == contiguous_strides(shape_of(view)))
    std::memcpy(to, data_of(view), tensor.bytes().size());
  else
    gather(view, strides, 0, data_of(view), dtype_bytes(view.dtype), to);
  return tensor;
}

}  // namespace

HostTensor host_tensor(const sy_view* view, sy_dtype wanted, const char* what) {
  check_view(*need(view, what), what);
  HostTensor given = dense(*view);
  if (given.dtype() == wanted) return given;
  HostTensor result;
  result.reset(wanted, given.shape());
  if (is_integer(given.dtype()) && wanted == id_dtype)
    widen_ids(ids_of(given), result.values<int64_t>().data());
  else if (is_integer(given.dtype()) && wanted == dtype::f32)
    ids_to_numbers(ids_of(given), result.values<float>().data());
  else if (is_float(given.dtype()) && is_float(wanted))
    convert(given.bytes().data(), given.dtype(), result.bytes().data(), wanted,
            given.bytes().size() / dtype_bytes(given.dtype()));
  else
    throw Error(SY_E_DATA,
                std::string(what) + " are " + dtype_name(given.dtype()) + "; the model takes " + dtype_name(wanted));
  return result;
}

}  // namespace switchyard::api
