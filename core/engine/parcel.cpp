#include "engine/parcel.hpp"

#include <utility>

#include "engine/device.hpp"
#include "plugin/host.hpp"

namespace switchyard {

Event::Event(std::shared_ptr<OpenedBackend> backend, sy_device device, bool timed) : backend_(std::move(backend)) {
  call_plugin([&](sy_error** e) { return backend_->api().event_new(backend_->get(), device, timed, &event_, e); });
}

Event::~Event() {
  if (event_) backend_->api().event_free(backend_->get(), event_);
}

void Event::swap(Event& o) noexcept {
  std::swap(backend_, o.backend_);
  std::swap(event_, o.event_);
}

bool Event::ready() const {
  if (!event_) return true;
  sy_error* error = nullptr;
  const sy_rc rc = backend_->api().event_ready(backend_->get(), event_, &error);
  if (rc == SY_E_AGAIN) return false;
  if (rc != SY_OK) throw_plugin_error(rc, error);
  return true;
}

void Event::wait() const {
  if (event_) call_plugin([&](sy_error** e) { return backend_->api().event_sync(backend_->get(), event_, e); });
}

double Event::seconds_until(const Event& later) const {
  double seconds = 0;
  call_plugin(
      [&](sy_error** e) { return backend_->api().event_seconds(backend_->get(), event_, later.event_, &seconds, e); });
  return seconds;
}

Parcel::Parcel(Tensor sent, const Device& sender) : tensor(std::move(sent)), from(&sender) {
  if (tensor) ready = sender.mark();
}

Tensor Arrivals::take(Parcel parcel) {
  if (!parcel.tensor || same_device(parcel.from->id(), here_.id())) return std::move(parcel.tensor);
  const sy_view& sent = parcel.tensor.view();
  free_copied();
  Tensor made = here_.new_tensor(shape_of(sent), sent.dtype);
  here_.copy_from(made.view(), sent, *parcel.from, parcel.ready);
  if (here_.is_asynchronous()) copying_.push_back({std::move(parcel), here_.mark()});
  return made;
}

void Arrivals::free_copied() {
  while (!copying_.empty() && copying_.front().done.ready()) copying_.pop_front();
  while (copying_.size() >= most_kept) {
    const Copying& oldest = copying_.front();
    if (oldest.parcel.from->is_asynchronous())
      oldest.parcel.from->wait_for(oldest.done);  // memory goes back in the order of the sender's stream
    else
      oldest.done.wait();
    copying_.pop_front();
  }
}

}  // namespace switchyard
