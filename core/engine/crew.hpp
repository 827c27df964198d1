// One thread per device, which carries out what the caller posts to all of them at once.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace switchyard {

class Crew {
 public:
  explicit Crew(int threads);
  /// Joins threads that are idle; threads that hang in a job are left to themselves.
  ~Crew();
  Crew(const Crew&) = delete;
  Crew& operator=(const Crew&) = delete;

  /// Starts job(thread number) on every thread; each calls a copy of its own. It must not throw, and must own what it
  /// works with if it can outlast a wait() that ends early. [ctl]
  void post(std::function<void(int)> job);
  /// Waits until all are done, or for at most `patience` after `hurry` first says true. False: somebody still hangs.
  /// [ctl]
  bool wait(const std::function<bool()>& hurry, std::chrono::duration<double> patience);
  bool idle() const;

 private:
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
    std::function<void(int)> job;
    uint64_t posted = 0;
    int running = 0;
    bool ending = false;
  };
  static void work(std::shared_ptr<Shared> shared, int number);

  std::shared_ptr<Shared> shared_;
  std::vector<std::thread> threads_;
};

}  // namespace switchyard
