// A bounded queue between two device threads, which a failure anywhere closes.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <utility>

namespace switchyard {

/// Thrown out of a wait because another thread failed first, or the step was cancelled. Carries nothing: the cause is
/// elsewhere.
struct Stopped {};

/// First in, first out; one sender, one taker. A capacity of 0 has no bound.
template <class T>
class Channel {
 public:
  explicit Channel(int capacity) : capacity_(capacity) {}
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Waits for room. Throws Stopped.
  void send(T item) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || capacity_ == 0 || static_cast<int>(items_.size()) < capacity_; });
    if (closed_) throw Stopped();
    items_.push_back(std::move(item));
    changed_.notify_all();
  }

  /// Waits for an item. Throws Stopped.
  T take() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return closed_ || !items_.empty(); });
    if (closed_) throw Stopped();
    T item = std::move(items_.front());
    items_.pop_front();
    changed_.notify_all();
    return item;
  }

  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }

  /// Empties and opens it for another step; nobody may be waiting.
  void reset() {
    const std::lock_guard lock(mutex_);
    items_.clear();
    closed_ = false;
  }

 private:
  const int capacity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<T> items_;
  bool closed_ = false;
};

}  // namespace switchyard
