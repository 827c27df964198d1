// Errors on their way over the border, in both directions.
#include <memory>
#include <new>
#include <utility>

#include "plugin/code_name.hpp"
#include "plugin/host.hpp"
#include "plugin/utf8.hpp"

namespace switchyard {
namespace {

/// What a plugin's code and error object say, as an Error of ours. A code that no header names is the plugin's mistake.
Error as_error(sy_rc code, const sy_error* from) {
  const bool known = code_name(code) != nullptr;
  std::string text;
  if (!known) text = "the plugin answered the code " + std::to_string(code) + ", which does not exist";
  if (from && *from->error.what()) text += (known ? "" : ": ") + std::string(from->error.what());
  if (text.empty()) text = std::string(code_text(code)) + " (" + code_name(code) + "; the plugin gave no text)";
  Error error(known ? code : sy_rc{SY_E_INTERNAL}, text);
  if (from)
    for (const auto& [key, value] : from->error.notes()) error.note(key, value);
  return error;
}

}  // namespace

sy_rc give_error(sy_error** err, const Error& error) noexcept {
  try {
    if (!err || *err) return error.code();
    Error clean(error.code(), valid_utf8(error.what()));
    for (const auto& [key, value] : error.notes()) clean.note(valid_utf8(key), valid_utf8(value));
    *err = new sy_error{clean};
  } catch (...) {  // no memory for the text: the code alone must do
  }
  return error.code();
}

void throw_plugin_error(sy_rc code, sy_error* take) {
  const std::unique_ptr<sy_error> owned(take);
  throw as_error(code, take);
}

void call_plugin(const std::function<sy_rc(sy_error**)>& call) {
  struct Slot {
    sy_error* err = nullptr;
    ~Slot() { delete err; }  // also an error beside success, which does not count
  } slot;
  sy_rc code = SY_OK;
  try {
    code = call(&slot.err);
  } catch (const Error&) {  // of a callback of ours that the plugin let through
    throw;
  } catch (const std::bad_alloc&) {
    throw Error(SY_E_NO_MEMORY, "out of host memory (the plugin let the exception out)");
  } catch (const std::exception& e) {
    throw Error(SY_E_INTERNAL, std::string("the plugin let an exception out: ") + e.what());
  } catch (...) {
    throw Error(SY_E_UNKNOWN, "the plugin let an exception of unknown type out");
  }
  if (code != SY_OK) throw_plugin_error(code, std::exchange(slot.err, nullptr));
}

sy_rc guard(sy_error** err, const std::function<void()>& body) noexcept {
  try {
    body();
    return SY_OK;
  } catch (const Error& e) {
    return give_error(err, e);
  } catch (const std::bad_alloc&) {
    return give_error(err, Error(SY_E_NO_MEMORY, "out of host memory"));
  } catch (const std::exception& e) {
    return give_error(err, Error(SY_E_INTERNAL, e.what()));
  } catch (...) {
    return give_error(err, Error(SY_E_UNKNOWN, "an exception of unknown type"));
  }
}

}  // namespace switchyard
