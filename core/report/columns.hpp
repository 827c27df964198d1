// How wide text is on a screen.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace switchyard {

/// Code points of UTF-8 text: every byte that does not continue one.
inline std::size_t columns_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

}  // namespace switchyard
