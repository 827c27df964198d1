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
  /// `stop_all` closes every channel; called once, by whoever fails first.
  explicit Failure(std::function<void()> stop_all) : stop_all_(std::move(stop_all)) {}

  /// Keeps the error if it is the first. [any]
  void set(const Error& error) {
    {
      const std::lock_guard lock(mutex_);
      if (first_) return;
      first_ = error;
      failed_.store(true);
    }
    stop_all_();
  }
  bool failed() const { return failed_.load(); }
  std::optional<Error> first() const {
    const std::lock_guard lock(mutex_);
    return first_;
  }
  void reset() {
    const std::lock_guard lock(mutex_);
    first_.reset();
    failed_.store(false);
  }

 private:
  std::function<void()> stop_all_;
  mutable std::mutex mutex_;
  std::optional<Error> first_;
  std::atomic<bool> failed_{false};
};

}  // namespace switchyard
