// What a plugin must leave as it found it: the state of the thread and of the process that can be looked at.
#pragma once

#include <functional>
#include <string>

namespace switchyard::checks {

/// Runs body and throws Fault for whatever is different afterwards: rounding mode, handling of subnormal numbers,
/// locale, signal mask and handlers, working directory, umask, environment, thread name and affinity.
void expect_surroundings_kept(const std::function<void()>& body);

/// Threads of this process; 0: unknown.
int thread_count();

}  // namespace switchyard::checks
