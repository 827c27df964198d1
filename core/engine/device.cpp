#include "engine/device.hpp"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "base/dtype.hpp"
#include "config/size.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"

namespace switchyard {

OpenedBackend::OpenedBackend(const sy_backend_api& api, const std::string& p2p) : api_(api) {
  Value options;
  if (std::ranges::any_of(options_of(api), [](const OptionSpec& o) { return o.key == "p2p"; }))
    options.table().push_back({"p2p", {}, Value(p2p)});
  ErrorList errors;
  const sy_config checked = check_plugin_options(api, options, errors, "");
  errors.raise();
  call_plugin([&](sy_error** e) { return api.open(host_table(), &checked, &backend_, e); });
}

OpenedBackend::~OpenedBackend() {
  if (backend_) api_.close(backend_);
}

Block::Block(std::shared_ptr<OpenedBackend> backend, sy_device device, sy_origin* account, sy_stream* stream,
             uint64_t bytes)
    : backend_(std::move(backend)), device_(device), account_(account), stream_(stream), bytes_(bytes) {
  call_plugin(
      [&](sy_error** e) { return host_table()->charge(host_table()->self, account_, static_cast<int64_t>(bytes), e); });
  try {
    call_plugin([&](sy_error** e) {
      return backend_->api().alloc(backend_->get(), device_, bytes > 0 ? bytes : 1, stream_, &memory_, e);
    });
  } catch (...) {
    account_->charge(-static_cast<int64_t>(bytes));
    throw;
  }
}

Block::~Block() {
  if (!memory_) return;
  backend_->api().free(backend_->get(), device_, memory_, stream_);
  account_->charge(-static_cast<int64_t>(bytes_));
}

void Block::swap(Block& o) noexcept {
  std::swap(backend_, o.backend_);
  std::swap(device_, o.device_);
  std::swap(account_, o.account_);
  std::swap(stream_, o.stream_);
  std::swap(memory_, o.memory_);
  std::swap(bytes_, o.bytes_);
}

Device::Device(const PlanDevice& plan, std::shared_ptr<OpenedBackend> backend)
    : name_(plan.name),
      id_(plan.device),
      threads_(plan.threads),
      backend_(std::move(backend)),
      account_(make_account(plan.name, plan.budget)),
      stream_(backend_, id_) {
  if (is_asynchronous()) to_host_ = new_stream();
}

Tensor Device::new_tensor(const Shape& shape, sy_dtype dtype) const {
  return tensor_in(allocate(static_cast<uint64_t>(element_count(shape)) * dtype.bits / 8), shape, dtype);
}

Tensor Device::tensor_in(Block memory, const Shape& shape, sy_dtype dtype) const {
  auto* block = new Block(std::move(memory));
  const OwnedView view(block->data(), id_, dtype, shape);
  return Tensor::adopt(wrap_tensor(view.get(), block, [](void* b) { delete static_cast<Block*>(b); }));
}

Tensor Device::copy(const sy_view& from) const {
  Tensor t = new_tensor(shape_of(from), from.dtype);
  copy_into(t.view(), from);
  return t;
}

Tensor Device::contiguous(const Tensor& t) const { return is_contiguous(t.view()) ? t : copy(t.view()); }

Tensor Device::cast(const Tensor& t, sy_dtype to) const {
  if (same_dtype(t.view().dtype, to)) return t;
  Tensor made = new_tensor(shape_of(t.view()), to);
  cast_into(made.view(), contiguous(t).view());
  return made;
}

void Device::copy_on(const Stream& stream, const sy_view& to, const sy_view& from) const {
  call_plugin([&](sy_error** e) { return api().copy(backend_->get(), &to, &from, stream.get(), e); });
}

void Device::cast_into(const sy_view& to, const sy_view& from) const {
  if (same_dtype(to.dtype, from.dtype)) return copy_into(to, from);
  call_plugin([&](sy_error** e) { return api().cast(backend_->get(), &to, &from, stream(), e); });
}

void Device::accumulate(const sy_view& to, const sy_view& from) const {
  call_plugin([&](sy_error** e) { return api().accumulate(backend_->get(), &to, &from, stream(), e); });
}

void Device::zero(const sy_view& to) const {
  call_plugin([&](sy_error** e) { return api().fill_zero(backend_->get(), &to, stream(), e); });
}

std::optional<std::size_t> Device::find_non_finite(const sy_view& v) const {
  const auto count = static_cast<std::size_t>(element_count(shape_of(v)));
  std::vector<std::byte> raw(byte_count(v));
  copy_into(OwnedView(raw.data(), {SY_DEVICE_CPU, 0}, v.dtype, shape_of(v)).get(), v);
  wait();
  std::vector<float> numbers(count);
  convert(raw.data(), v.dtype, numbers.data(), dtype::f32, count);
  const auto found = std::find_if_not(numbers.begin(), numbers.end(), [](float x) { return std::isfinite(x); });
  if (found == numbers.end()) return std::nullopt;
  return static_cast<std::size_t>(found - numbers.begin());
}

void Device::copy_from(const sy_view& to, const sy_view& from, const Device& source, const Event& ready) const {
  if (is_asynchronous() || !source.is_asynchronous()) {
    wait_for(ready);
    return copy_into(to, from);
  }
  source.to_host_->wait_for(ready);
  source.copy_on(*source.to_host_, to, from);
  source.to_host_->wait();
}

Device::Current::Current(const Device& device) : device_(device) {
  call_plugin([&](sy_error** e) { return device.api().enter(device.backend_->get(), device.id_, &token_, e); });
}

Device::Current::~Current() { device_.api().leave(device_.backend_->get(), token_); }

}  // namespace switchyard
