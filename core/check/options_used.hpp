// Does each published option change something?
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "config/schema.hpp"

namespace switchyard::checks {

/// Everything that can be seen of a plugin with a table of options; a refusal is text as well.
using Face = std::function<std::string(const Value& table)>;

/// Throws Skip where there are none, and Fault naming an option none of whose values changes the face, also not beside
/// another value of one other option. `named`: text that may stand where an option takes any.
void expect_options_used(const std::vector<OptionSpec>& all, const Value& table, const Face& face,
                         const std::string& named = "");

/// Values that an option may have, the default not among them; at most a few. Empty: none can be made up.
std::vector<Value> alternatives(const OptionSpec& option, const std::string& named = "");

/// A value for an option that must be given, the n-th guess.
Value guess(const OptionSpec& option, std::size_t n);
inline constexpr std::size_t guesses = 6;

}  // namespace switchyard::checks
