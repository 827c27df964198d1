// What tests ask of texts.
#pragma once

#include <string>

namespace switchyard::test {

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace switchyard::test
