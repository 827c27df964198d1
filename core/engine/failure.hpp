// The first failure wins; everybody else stops.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <optional>

#include "base/error.hpp"

namespace switchyard {

class Failure {
 public:
  /// `stop_all` closes every link; called once, by whoever fails first. `restart_all` opens them again. Both are
  /// called under the lock, so that a late stop never closes the links of the next step.
  Failure(std::function<void()> stop_all, std::function<void()> restart_all)
      : stop_all_(std::move(stop_all)), restart_all_(std::move(restart_all)) {}

  /// Keeps the error if it is the first. [any]
  void set(const Error& error) {
    const std::lock_guard lock(mutex_);
    set_locked(error);
  }
  /// The same, but only between take_cancels() and refuse_cancels(); else nothing happens. [any]
  void cancel(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (cancellable_) set_locked(error);
  }
  void take_cancels() {
    const std::lock_guard lock(mutex_);
    cancellable_ = true;
  }
  void refuse_cancels() {
    const std::lock_guard lock(mutex_);
    cancellable_ = false;
  }

  bool failed() const { return failed_.load(); }
  /// True from the first failure to reset(); lent.
  const std::atomic<bool>& stop() const { return failed_; }
  std::optional<Error> first() const {
    const std::lock_guard lock(mutex_);
    return first_;
  }
  /// Nobody may be running.
  void reset() {
    const std::lock_guard lock(mutex_);
    restart_all_();
    first_.reset();
    failed_.store(false);
  }

 private:
  void set_locked(const Error& error) {
    if (first_) return;
    first_ = error;
    failed_.store(true);
    stop_all_();
  }

  std::function<void()> stop_all_, restart_all_;
  mutable std::mutex mutex_;
  std::optional<Error> first_;
  std::atomic<bool> failed_{false};
  bool cancellable_ = false;
};

}  // namespace switchyard
