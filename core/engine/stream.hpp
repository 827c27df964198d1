// Work of one device in order, and markers in it.
#pragma once

#include <memory>

#include "switchyard/backend.h"

namespace switchyard {

class OpenedBackend;

/// A marker in a stream. Empty for a synchronous device (the CPU), where whatever was called is done.
class Event {
 public:
  Event() = default;
  /// Not recorded yet. timed: seconds_until() may be asked.
  Event(std::shared_ptr<OpenedBackend> backend, sy_device device, bool timed);
  Event(Event&& o) noexcept { swap(o); }
  Event& operator=(Event&& o) noexcept {
    swap(o);
    return *this;
  }
  ~Event();
  explicit operator bool() const { return event_ != nullptr; }
  sy_event* get() const { return event_; }
  void wait() const;
  /// Of two timed events of one device, both passed.
  double seconds_until(const Event& later) const;

 private:
  void swap(Event& o) noexcept;
  std::shared_ptr<OpenedBackend> backend_;
  sy_event* event_ = nullptr;
};

/// What is enqueued runs in order. [any]
class Stream {
 public:
  Stream(std::shared_ptr<OpenedBackend> backend, sy_device device);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  sy_stream* get() const { return stream_; }
  void* native() const;
  /// Marks what is enqueued so far.
  Event mark(bool timed = false) const;
  /// The same with an event that was made before; what it marked is forgotten.
  void mark_again(const Event& event) const;
  /// Later work waits for the event.
  void wait_for(const Event& event) const;
  /// Waits until everything enqueued is done.
  void wait() const;

 private:
  std::shared_ptr<OpenedBackend> backend_;
  sy_device device_{};
  sy_stream* stream_ = nullptr;
};

}  // namespace switchyard
