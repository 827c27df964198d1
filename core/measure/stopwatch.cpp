#include "measure/stopwatch.hpp"

#include <algorithm>
#include <chrono>

#include "plugin/host.hpp"

namespace switchyard {

namespace {

/// A marker in a stream that can be read out.
class TimedEvent {
 public:
  explicit TimedEvent(const Device& device) : backend_(*device.backend()), device_(device) {
    call_plugin([&](sy_error** e) { return backend_.api().event_new(backend_.get(), device.id(), 1, &event_, e); });
  }
  ~TimedEvent() { backend_.api().event_free(backend_.get(), event_); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;

  void record() {
    call_plugin([&](sy_error** e) { return backend_.api().event_record(backend_.get(), event_, device_.stream(), e); });
  }
  double seconds_since(const TimedEvent& from) const {
    double seconds = 0;
    call_plugin([&](sy_error** e) { return backend_.api().event_sync(backend_.get(), event_, e); });
    call_plugin(
        [&](sy_error** e) { return backend_.api().event_seconds(backend_.get(), from.event_, event_, &seconds, e); });
    return seconds;
  }

 private:
  OpenedBackend& backend_;
  const Device& device_;
  sy_event* event_ = nullptr;
};

}  // namespace

double seconds_of(const Device& device, const std::function<void()>& work) {
  if (device.is_asynchronous()) {
    TimedEvent begin(device), end(device);
    begin.record();
    work();
    end.record();
    return end.seconds_since(begin);
  }
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace switchyard
