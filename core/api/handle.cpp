#include "api/handle.hpp"

#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <string_view>
#include <unordered_map>

#include "plugin/host.hpp"

namespace switchyard::api {

namespace {

struct Owner {
  std::string_view type;  // equal names may lie at several addresses
  pid_t process;
};

struct Handles {
  std::mutex mutex;
  std::unordered_map<const void*, Owner> alive;
};

Handles& handles() {
  static auto* all = [] {
    auto* made = new Handles;  // never destroyed: handles may be closed while the process ends
    // A child must find the lock open, whatever the other threads of its parent were doing.
    pthread_atfork([] { handles().mutex.lock(); }, [] { handles().mutex.unlock(); }, [] { handles().mutex.unlock(); });
    return made;
  }();
  return *all;
}

}  // namespace

const Subject& RuntimeState::configured() const {
  if (!subject) throw Error(SY_E_STATE, "the runtime was opened without a configuration");
  return *subject;
}

void remember(const void* handle, const char* type) {
  const std::lock_guard lock(handles().mutex);
  handles().alive[handle] = {type, getpid()};
}

namespace {

enum class Fate { ours, foreign, unknown };

Fate take_out(const void* handle, const char* type) {
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().alive.find(handle);
  if (found == handles().alive.end() || found->second.type != type) return Fate::unknown;
  const bool ours = found->second.process == getpid();
  handles().alive.erase(found);
  return ours ? Fate::ours : Fate::foreign;
}

}  // namespace

bool forget(const void* handle, const char* type) {
  const Fate fate = take_out(handle, type);
  if (fate == Fate::unknown) log(3, "api", std::string("a ") + type + " is closed that is not open");
  return fate == Fate::ours;  // a child has no threads of its parent's pipes to wait for
}

void check_alive(const void* handle, const char* type) {
  if (!handle) throw Error(SY_E_ARGUMENT, std::string("the ") + type + " is NULL");
  const std::lock_guard lock(handles().mutex);
  const auto found = handles().alive.find(handle);
  if (found == handles().alive.end() || found->second.type != type)
    throw Error(SY_E_ARGUMENT, std::string("this is no open ") + type + "; was it closed before?");
  if (found->second.process != getpid())
    throw Error(SY_E_STATE, std::string("the ") + type + " was made by process " +
                                std::to_string(found->second.process) + "; after fork() the child makes its own");
}

}  // namespace switchyard::api
