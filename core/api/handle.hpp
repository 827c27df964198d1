// What the opaque handles of switchyard.h hold, and which of them are alive.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "plugin/host.hpp"
#include "switchyard/switchyard.h"
#include "train/session.hpp"

namespace switchyard::api {

/// What a runtime shares with the plans and pipes made from it, which may outlive it.
struct RuntimeState {
  std::optional<Subject> subject;  // nothing: no configuration
  std::string path;                // of the configuration or run; "": it was given as text
  std::vector<std::string> sets;
  std::unique_ptr<Registry> registry;

  /// The configuration; SY_E_STATE: there is none.
  const Subject& configured() const;
};

/// Remembers a handle until forget(). [any]
void remember(const void* handle, const char* type);
/// False: it is not alive, or another process made it; then it must not be destroyed. [any]
bool forget(const void* handle, const char* type);
/// Throws Error(SY_E_ARGUMENT) for NULL and for what is no live handle of this type, SY_E_STATE in a forked child.
/// [any]
void check_alive(const void* handle, const char* type);

}  // namespace switchyard::api

struct sy_runtime {
  std::shared_ptr<switchyard::api::RuntimeState> state;
  static constexpr const char* type = "runtime";
};

struct sy_plan {
  std::shared_ptr<switchyard::api::RuntimeState> state;
  std::unique_ptr<switchyard::Session> session;  // destroyed before the registry that it uses
  static constexpr const char* type = "plan";
};

struct sy_pipe {
  std::shared_ptr<switchyard::api::RuntimeState> state;
  std::unique_ptr<switchyard::Session> session;
  std::vector<double> micro_losses;
  static constexpr const char* type = "pipe";
};

namespace switchyard::api {

template <class Handle>
Handle& alive(Handle* handle) {
  check_alive(handle, Handle::type);
  return *handle;
}

template <class Handle>
void give_handle(Handle** to, std::unique_ptr<Handle> handle) {
  remember(handle.get(), Handle::type);
  *to = handle.release();
}

/// Closing NULL or a handle of another process is fine; one that was closed before is reported in the log.
template <class Handle>
void close_handle(Handle* handle) noexcept {
  guard(nullptr, [&] {
    if (handle && forget(handle, Handle::type)) delete handle;
  });
}

}  // namespace switchyard::api
