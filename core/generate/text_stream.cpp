#include "generate/text_stream.hpp"

#include <algorithm>
#include <cstdint>

namespace switchyard {
namespace {

/// What stands at the beginning of some bytes.
struct Sequence {
  std::size_t length = 0;  // of the character, or of the part that is wrong
  bool valid = false;
  bool cut = false;  // more bytes could complete it
};

/// Table 3-7 of the Unicode standard: the range of the second byte depends on the first.
Sequence first_sequence(std::string_view bytes) {
  const auto at = [&](std::size_t i) { return static_cast<std::uint8_t>(bytes[i]); };
  const std::uint8_t lead = at(0);
  if (lead < 0x80) return {1, true, false};
  if (lead < 0xc2 || lead > 0xf4) return {1, false, false};
  const std::size_t length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  std::uint8_t low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  std::uint8_t high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  for (std::size_t i = 1; i < length; ++i) {
    if (i == bytes.size()) return {i, false, true};
    if (at(i) < low || at(i) > high) return {i, false, false};
    low = 0x80, high = 0xbf;
  }
  return {length, true, false};
}

/// The longest end of `text` that `stop` begins with, without being all of it.
std::size_t held_back(std::string_view text, std::string_view stop) {
  std::size_t n = std::min(text.size(), stop.size() - 1);
  while (n > 0 && !text.ends_with(stop.substr(0, n))) --n;
  return n;
}

}  // namespace

std::string take_utf8(std::string& bytes) {
  std::string text;
  std::string_view rest = bytes;
  while (!rest.empty()) {
    const Sequence next = first_sequence(rest);
    if (next.cut) break;
    text += next.valid ? rest.substr(0, next.length) : std::string_view("\xef\xbf\xbd");
    rest.remove_prefix(next.length);
  }
  bytes = std::string(rest);
  return text;
}

std::string TextStream::push(std::string_view bytes) {
  if (stopped_) return "";
  held_ += bytes;
  std::size_t free = held_.size();
  if (!stop_.empty()) {
    const std::size_t at = held_.find(stop_);
    stopped_ = at != std::string::npos;
    free = stopped_ ? at : held_.size() - held_back(held_, stop_);
  }
  tail_ += held_.substr(0, free);
  held_ = stopped_ ? "" : held_.substr(free);
  return take_utf8(tail_);
}

std::string TextStream::finish() {
  tail_ += held_;
  held_.clear();
  std::string text = take_utf8(tail_);
  if (!tail_.empty()) text += "\xef\xbf\xbd";
  tail_.clear();
  return text;
}

}  // namespace switchyard
