// What a plugin must leave as it found it: the state of the thread and of the process that can be looked at.
#pragma once

#include <fenv.h>
#include <signal.h>

#include <map>
#include <string>

namespace switchyard::checks {

/// Rounding mode, handling of subnormal numbers, locale, signal mask and handlers, working directory, umask,
/// environment, thread name and affinity, as they are when this is made.
class Surroundings {
 public:
  Surroundings();
  /// What a faulty plugin leaves of the thread's state must not change the checks that follow.
  ~Surroundings();
  Surroundings(const Surroundings&) = delete;
  /// Throws Fault for whatever is different now.
  void expect_kept() const;

 private:
  std::map<std::string, std::string> before_;
  fenv_t numbers_;
  sigset_t signals_;
};

/// Threads of this process; 0: unknown.
int thread_count();

}  // namespace switchyard::checks
