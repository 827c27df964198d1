#include "api/call.hpp"

#include <cstdlib>
#include <limits>
#include <new>

namespace switchyard::api {

namespace {

/// The exception that is being handled, as an Error.
Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::bad_alloc&) {
    return Error(SY_E_NO_MEMORY, "out of host memory");
  } catch (const std::exception& e) {
    return Error(SY_E_INTERNAL, e.what());
  } catch (...) {
    return Error(SY_E_UNKNOWN, "an exception of unknown type");
  }
}

}  // namespace

char* give_text(const std::string& text) {
  auto* copy = static_cast<char*>(std::malloc(text.size() + 1));
  if (!copy) throw std::bad_alloc();
  std::memcpy(copy, text.c_str(), text.size() + 1);
  return copy;
}

void give_text(char** to, const std::string& text) {
  if (to) *to = give_text(text);
}

void run_on(Session& session, const std::function<void()>& body) {
  const Session::Working working(session);
  try {
    body();
  } catch (...) {
    Error error = current_error();
    if (session.built()) error.note("phase", "running");
    throw error;
  }
}

double or_nan(const std::optional<double>& value) { return value.value_or(std::numeric_limits<double>::quiet_NaN()); }

}  // namespace switchyard::api
