// What may be asked before anything else, errors, text, the log.
#include "plugin/version.hpp"

#include <cstdlib>

#include "plugin/code_name.hpp"
#include "plugin/host.hpp"
#include "switchyard/switchyard.h"

using namespace switchyard;

const char* sy_version(void) { return SWITCHYARD_VERSION; }

void sy_abi(uint32_t* major, uint32_t* minor) {
  if (major) *major = SY_ABI_MAJOR;
  if (minor) *minor = SY_ABI_MINOR;
}

sy_rc sy_error_code(const sy_error* error) { return error ? error->error.code() : sy_rc{SY_OK}; }

const char* sy_error_text(const sy_error* error) { return error ? error->error.what() : ""; }

const char* sy_error_note(const sy_error* error, const char* key) {
  const char* found = nullptr;
  guard(nullptr, [&] {
    const std::string* value = error && key ? std::as_const(error->error).note(key) : nullptr;
    if (value) found = value->c_str();
  });
  return found;
}

const char* sy_error_note_key(const sy_error* error, uint32_t index) {
  return error && index < error->error.notes().size() ? error->error.notes()[index].first.c_str() : nullptr;
}

void sy_error_free(sy_error* take) { delete take; }

const char* sy_code_name(sy_rc code) { return code_name(code); }

void sy_free(char* take) { std::free(take); }

void sy_log_sink(void (*sink)(void* user, int32_t level, const char* where, const char* text), void* user) {
  guard(nullptr, [&] {
    if (!sink) return set_log_sink({});
    set_log_sink([sink, user](int level, const std::string& where, const std::string& text) {
      sink(user, level, where.c_str(), text.c_str());
    });
  });
}
