// Text as a JSON string.
#pragma once

#include <string>

namespace switchyard {

/// With its quotes; bytes that are not UTF-8 become U+FFFD.
std::string json_string(const std::string& text);

}  // namespace switchyard
