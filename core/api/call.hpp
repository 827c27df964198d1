// The border of the application API: exceptions become codes, structs are read and filled by their size, text is given.
#pragma once

#include <cstring>
#include <functional>
#include <string>

#include "plugin/host.hpp"
#include "train/session.hpp"

namespace switchyard::api {

/// Throws Error(SY_E_ARGUMENT) naming the argument when it is NULL.
template <class T>
T* need(T* argument, const char* name) {
  if (!argument) throw Error(SY_E_ARGUMENT, std::string(name) + " is NULL");
  return argument;
}

/// A full copy of the caller's struct: fields that it does not have are zero, and so are all for NULL.
template <class T>
T read_struct(const T* from, const char* name) {
  T copy{};
  if (from) {
    if (from->size < sizeof(from->size))
      throw Error(SY_E_ARGUMENT, std::string(name) + ": its size is " + std::to_string(from->size) +
                                     "; set it to the size of the struct");
    std::memcpy(&copy, from, from->size < sizeof(T) ? from->size : sizeof(T));
  }
  copy.size = sizeof(T);
  return copy;
}

/// Whether fill_struct will work; asked before anything else is done.
template <class T>
void check_struct(const T* to, const char* name) {
  read_struct(to, name);
}

/// Fills as much of the caller's struct as it has. NULL: nothing is wanted.
template <class T>
void fill_struct(T* to, T value) {
  if (!to) return;
  value.size = to->size;
  std::memcpy(to, &value, to->size < sizeof(T) ? to->size : sizeof(T));
}

/// A copy that sy_free frees. Throws std::bad_alloc.
char* give_text(const std::string& text);
/// The same into an output that may be NULL.
void give_text(char** to, const std::string& text);

/// Copies a list: capacity in, count out. Throws Error(SY_E_RANGE) after count was set when the capacity is too small.
template <class T, class List>
void give_list(const List& list, T* out, uint32_t capacity, uint32_t* count) {
  *need(count, "count") = static_cast<uint32_t>(list.size());
  if (capacity < list.size())
    throw Error(SY_E_RANGE, "room for " + std::to_string(capacity) + " of " + std::to_string(list.size()) + " items");
  if (!list.empty()) need(out, "out");
  for (std::size_t i = 0; i < list.size(); ++i) out[i] = list[i];
}

/// Runs what a session is for, one call at a time. Failures after its weights were placed have the note phase =
/// "running".
void run_on(Session& session, const std::function<void()>& body);

/// NaN stands for what does not apply.
double or_nan(const std::optional<double>& value);

}  // namespace switchyard::api
