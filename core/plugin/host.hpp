// The one sy_host of this process, and how errors cross the border.
#pragma once

#include <functional>
#include <string>

#include "base/error.hpp"
#include "switchyard/base.h"

/// Lives on the heap; made by sy_host.fail and by api/.
struct sy_error {
  switchyard::Error error;
};

/// A growing string handed to plugins.
struct sy_text {
  std::string text;
};

namespace switchyard {

const sy_host* host_table();

/// Where log lines go: one sink per process, called under a lock. An empty function restores stderr from level 3 up.
void set_log_sink(std::function<void(int level, const std::string& where, const std::string& text)> sink);
void log(int level, const std::string& where, const std::string& text);

/// All functions here: [any].

/// Runs a plugin call that takes an sy_error** last and throws an Error with its code, text and notes when it fails:
///   call_plugin([&](sy_error** e) { return api.infer(layer, ..., e); });
void call_plugin(const std::function<sy_rc(sy_error**)>& call);
/// The same from a code and an error that were already returned; takes err.
void throw_plugin_error(sy_rc code, sy_error* take);

/// Runs body and turns any exception into a code and, when err is not NULL, an error object: the border of the
/// application API.
sy_rc guard(sy_error** err, const std::function<void()>& body) noexcept;
/// Makes *err, when err is not NULL and *err is NULL, and returns the error's code.
sy_rc give_error(sy_error** err, const Error& error) noexcept;

}  // namespace switchyard
