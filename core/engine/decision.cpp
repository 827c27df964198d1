#include "engine/decision.hpp"

#include "base/dtype.hpp"
#include "plugin/host.hpp"

namespace switchyard {

namespace {

template <class T>
OwnedView on_host(const T* data, std::size_t bytes) {
  return OwnedView(const_cast<T*>(data), {SY_DEVICE_CPU, 0}, dtype::u8, {static_cast<int64_t>(bytes)});
}

}  // namespace

Decision::Decision(const Device& device, const std::vector<int32_t>& order)
    : device_(device),
      count_(order.size()),
      squares_(device.allocate(count_ * sizeof(double))),
      order_(device.allocate(count_ * sizeof(int32_t))),
      outcome_(device.allocate(sizeof(sy_outcome))),
      control_(device.allocate(sizeof(sy_opt_control))) {
  if (count_ > 0) {
    const std::size_t size = count_ * sizeof(int32_t);
    device.copy_into(bytes(order_, size).get(), on_host(order.data(), size).get());
  }
  set_applied(0);
}

OwnedView Decision::bytes(const Block& block, std::size_t count) const {
  return OwnedView(block.data(), device_.id(), dtype::u8, {static_cast<int64_t>(count)});
}

OwnedView Decision::squares(int first, int count) const {
  return OwnedView(squares_.data() + static_cast<std::size_t>(first) * sizeof(double), device_.id(), dtype::f64,
                   {int64_t{count}});
}

void Decision::make_room_for_losses(int count) {
  const std::size_t needed = static_cast<std::size_t>(count) * 2 * sizeof(float);
  if (losses_.bytes() < needed) losses_ = device_.allocate(needed);
}

OwnedView Decision::losses(int first, int count) const {
  return OwnedView(losses_.data() + static_cast<std::size_t>(first) * 2 * sizeof(float), device_.id(), dtype::f32,
                   {int64_t{2} * count});
}

OwnedView Decision::outcome() const { return bytes(outcome_, sizeof(sy_outcome)); }

const sy_opt_control* Decision::control() const { return reinterpret_cast<const sy_opt_control*>(control_.data()); }

void Decision::decide(const DecisionTerms& terms) const {
  sy_decide d{};
  d.size = sizeof d;
  d.flags = terms.flags;
  d.n_squares = static_cast<uint32_t>(count_);
  d.n_losses = static_cast<uint32_t>(terms.losses);
  d.device = device_.id();
  d.squares = reinterpret_cast<const double*>(squares_.data());
  d.order = reinterpret_cast<const int32_t*>(order_.data());
  d.losses = reinterpret_cast<const float*>(losses_.data());
  d.lr = terms.lr;
  d.loss_scale = terms.loss_scale;
  d.clip_norm = terms.clip_norm;
  d.outcome = reinterpret_cast<sy_outcome*>(outcome_.data());
  d.control = reinterpret_cast<sy_opt_control*>(control_.data());
  const OpenedBackend& backend = *device_.backend();
  call_plugin([&](sy_error** e) { return backend.api().decide(backend.get(), &d, device_.stream(), e); });
}

void Decision::set_applied(int64_t applied) const {
  sy_outcome from{};
  from.applied = applied;
  device_.copy_into(outcome().get(), on_host(&from, sizeof from).get());
  device_.wait();
}

}  // namespace switchyard
