// What a test expects of a configuration that is refused.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../../support/text.hpp"
#include "config/config.hpp"

namespace switchyard {

/// The text of the error that an action throws; "" when it throws none.
template <class Action>
std::string refusal(const Action& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

inline std::string refusal_of(const std::string& text, const std::vector<std::string>& sets = {}) {
  return refusal([&] { parse_config(text, "t.toml", sets); });
}

inline int lines(const std::string& text) {
  int count = text.empty() ? 0 : 1;
  for (char c : text) count += c == '\n';
  return count;
}

}  // namespace switchyard

#define CHECK_HOLDS(text, part) \
  CHECK_MESSAGE(::switchyard::test::contains(text, part), std::string(text), "  should hold  ", std::string(part))
