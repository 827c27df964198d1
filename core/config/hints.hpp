// What a person who comes from elsewhere, or put a key into the wrong table, should write here.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace switchyard {

/// What a key of another framework (device_map, gradient_accumulation_steps, also misspelt) is here, as the end of a
/// sentence: "write [placement.explicit] ...". Nothing when the table does not know it.
std::optional<std::string> foreign_key_hint(const std::string& key);

/// The same for a value of one of our keys: ("precision.type", "16-mixed") gives "write precision.type = \"fp16\"".
std::optional<std::string> foreign_value_hint(const std::string& key_path, const std::string& value);

/// The end of the message about an unknown key, beginning with "; ": the nearest key of the table, else what it is
/// called here, else the table in which it belongs, else the keys of the table.
std::string unknown_key_hint(const std::string& key, const std::vector<std::string>& known);

}  // namespace switchyard
