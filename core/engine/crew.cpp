#include "engine/crew.hpp"

namespace switchyard {

Crew::Crew(int threads) : shared_(std::make_shared<Shared>()) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back(work, shared_, i);
}

Crew::~Crew() {
  bool hangs = false;
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->ending = true;
    hangs = shared_->running > 0;
    shared_->changed.notify_all();
  }
  for (std::thread& t : threads_) {
    if (hangs)
      t.detach();
    else
      t.join();
  }
}

void Crew::work(std::shared_ptr<Shared> shared, int number) {
  uint64_t seen = 0;
  for (;;) {
    std::function<void(int)> job;
    {
      std::unique_lock lock(shared->mutex);
      shared->changed.wait(lock, [&] { return shared->ending || shared->posted != seen; });
      if (shared->posted == seen) return;
      seen = shared->posted;
      job = shared->job;
    }
    job(number);
    job = nullptr;  // what it holds is gone before the caller goes on
    const std::lock_guard lock(shared->mutex);
    if (--shared->running == 0) shared->changed.notify_all();
  }
}

void Crew::post(std::function<void(int)> job) {
  const std::lock_guard lock(shared_->mutex);
  shared_->job = std::move(job);
  shared_->running = static_cast<int>(threads_.size());
  ++shared_->posted;
  shared_->changed.notify_all();
}

bool Crew::wait(const std::function<bool()>& hurry, std::chrono::duration<double> patience) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(shared_->mutex);
  const auto done = [&] { return shared_->running == 0; };
  Clock::time_point end = Clock::time_point::max();
  while (!shared_->changed.wait_for(lock, std::chrono::milliseconds(100), done)) {
    if (end == Clock::time_point::max() && hurry())
      end = Clock::now() + std::chrono::duration_cast<Clock::duration>(patience);
    if (Clock::now() > end) return false;
  }
  shared_->job = nullptr;
  return true;
}

bool Crew::idle() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->running == 0;
}

}  // namespace switchyard
