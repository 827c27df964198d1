#include "failure.hpp"

#include <cstdio>
#include <memory>
#include <sstream>

namespace cli {

namespace {

/// Codes that blame what the user gave, unless a running pipe met them.
bool blames_input(sy_rc code) {
  switch (code) {
    case SY_E_CONFIG:
    case SY_E_INFEASIBLE:
    case SY_E_ARGUMENT:
    case SY_E_NOT_FOUND:
    case SY_E_EXISTS:
    case SY_E_DENIED:
    case SY_E_DATA:
    case SY_E_ABI:
    case SY_E_STATE:
    case SY_E_RANGE:
    case SY_E_UNAVAILABLE:
    case SY_E_UNIMPLEMENTED:
      return true;
    default:  // the codes are open: plugins of later versions may bring more
      return false;
  }
}

int exit_code_of(const sy_error* error) {
  const bool in_a_layer = sy_error_note(error, "micro_batch") || sy_error_note(error, "plugin");
  const bool running = sy_error_note(error, "phase") || in_a_layer;
  const sy_rc code = sy_error_code(error);
  if (running) return code == SY_E_CONFIG && !in_a_layer ? wrong_input : failed_running;
  return blames_input(code) ? wrong_input : failed_running;
}

}  // namespace

void call(const std::function<sy_rc(sy_error**)>& function) {
  sy_error* raw = nullptr;
  const sy_rc rc = function(&raw);
  const std::unique_ptr<sy_error, void (*)(sy_error*)> error(raw, sy_error_free);
  if (rc == SY_OK) return;
  std::string text = sy_error_text(error.get());
  if (text.empty()) text = sy_code_name(rc) ? sy_code_name(rc) : "code " + std::to_string(rc);
  throw Failure{error ? exit_code_of(error.get()) : failed_running, text};
}

int report(const Failure& failure) {
  std::istringstream lines(failure.text);
  std::string all;
  for (std::string line; std::getline(lines, line);) all += (line.starts_with("  ") ? "" : "error: ") + line + "\n";
  std::fflush(stdout);
  std::fputs(all.c_str(), stderr);
  std::fflush(stderr);
  return failure.exit_code;
}

}  // namespace cli
