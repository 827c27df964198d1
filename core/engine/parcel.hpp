// What travels between devices, and when it may be read, and freed.
//
//   producer's thread        its stream     taker's thread                        taker's stream
//   F enqueued ──────────▶   ...work...
//   record `ready`  ─────▶   ● ready  ┐
//   send(parcel) ───────────────────────▶   take: wait_for(ready) ───────────▶    ┆ waits for ready
//                                     └──────────────────────────────────────▶    copy
//                                           record `done`, keep the tensor ──▶    ● done
//                                           free it once `done` is ready
//
// Devices that are synchronous (the CPU) need no events: whatever was called is done.
#pragma once

#include <deque>
#include <memory>

#include "base/tensor.hpp"
#include "switchyard/backend.h"

namespace switchyard {

class Device;
class OpenedBackend;

/// A marker in a device's stream; empty for a synchronous device.
class Event {
 public:
  Event() = default;
  /// Not recorded yet. timed: seconds_until() may be asked.
  Event(std::shared_ptr<OpenedBackend> backend, sy_device device, bool timed = false);
  Event(Event&& o) noexcept { swap(o); }
  Event& operator=(Event&& o) noexcept {
    swap(o);
    return *this;
  }
  ~Event();
  explicit operator bool() const { return event_ != nullptr; }
  sy_event* get() const { return event_; }
  /// Is everything before it done? True when empty. Throws what the device failed with.
  bool ready() const;
  void wait() const;
  /// Of two timed events of one device, both passed.
  double seconds_until(const Event& later) const;

 private:
  void swap(Event& o) noexcept;
  std::shared_ptr<OpenedBackend> backend_;
  sy_event* event_ = nullptr;
};

/// A tensor on an edge. Nothing in it: no gradient flows.
struct Parcel {
  Parcel() = default;
  /// Everything that makes the tensor is enqueued on the sender's stream.
  Parcel(Tensor sent, const Device& sender);

  Tensor tensor;
  const Device* from = nullptr;
  Event ready;
};

/// Takes parcels on one device, by one thread. Keeps what is still being copied.
class Arrivals {
 public:
  explicit Arrivals(const Device& here) : here_(here) {}

  /// The tensor itself when it lies here, else a copy. Only a synchronous device waits for the sender.
  Tensor take(Parcel parcel);
  /// The device has nothing to do any more.
  void clear() { copying_.clear(); }

 private:
  struct Copying {
    Parcel parcel;
    Event done;
  };
  void free_copied();

  static constexpr std::size_t most_kept = 4;  // then the sender's stream waits, so that memory stays bounded
  const Device& here_;
  std::deque<Copying> copying_;
};

}  // namespace switchyard
