#include "engine/stream.hpp"

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

void Event::wait() const {
  if (event_) call_plugin([&](sy_error** e) { return backend_->api().event_sync(backend_->get(), event_, e); });
}

double Event::seconds_until(const Event& later) const {
  double seconds = 0;
  call_plugin(
      [&](sy_error** e) { return backend_->api().event_seconds(backend_->get(), event_, later.event_, &seconds, e); });
  return seconds;
}

Stream::Stream(std::shared_ptr<OpenedBackend> backend, sy_device device)
    : backend_(std::move(backend)), device_(device) {
  call_plugin([&](sy_error** e) { return backend_->api().stream_new(backend_->get(), device, &stream_, e); });
}

Stream::~Stream() { backend_->api().stream_free(backend_->get(), stream_); }

void* Stream::native() const { return backend_->api().stream_native(backend_->get(), stream_); }

Event Stream::mark(bool timed) const {
  Event event(backend_, device_, timed);
  mark_again(event);
  return event;
}

void Stream::mark_again(const Event& event) const {
  call_plugin([&](sy_error** e) { return backend_->api().event_record(backend_->get(), event.get(), stream_, e); });
}

void Stream::wait_for(const Event& event) const {
  if (!event) return;
  call_plugin([&](sy_error** e) { return backend_->api().stream_wait(backend_->get(), stream_, event.get(), e); });
}

void Stream::wait() const {
  call_plugin([&](sy_error** e) { return backend_->api().stream_sync(backend_->get(), stream_, e); });
}

}  // namespace switchyard
