// All text that crosses the border is UTF-8, also where its author was careless.
#pragma once

#include <string>

namespace switchyard {

/// The text; bytes in it that are no UTF-8 become U+FFFD. [any]
std::string valid_utf8(const std::string& text);

}  // namespace switchyard
