#include "generate/text_stream.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using switchyard::take_utf8;
using switchyard::TextStream;

namespace {

constexpr const char* replacement = "\xef\xbf\xbd";

/// All pieces, byte by byte.
std::string through(TextStream& stream, const std::string& bytes) {
  std::string text;
  for (const char c : bytes) text += stream.push(std::string(1, c));
  return text + stream.finish();
}

}  // namespace

TEST_CASE("whole characters come out as soon as they are complete") {
  TextStream stream("");
  CHECK(stream.push("a\xc3") == "a");
  CHECK(stream.push("\xa9z") == "\xc3\xa9z");
  CHECK(stream.push("\xf0\x9f\x98") == "");
  CHECK(stream.push("\x80") == "\xf0\x9f\x98\x80");
  CHECK(stream.finish() == "");
}

TEST_CASE("bytes that are no UTF-8 become one replacement for each maximal part") {
  const std::string r = replacement;
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"\xff", r},
      {"a\x80z", "a" + r + "z"},
      {"\xe2\x82", r},                      // cut off
      {"\xe2\x82z", r + "z"},               // two bytes of three: one
      {"\xc0\xaf", r + r},                  // overlong
      {"\xed\xa0\x80", r + r + r},          // a surrogate
      {"\xf4\x90\x80\x80", r + r + r + r},  // past U+10FFFF
      {"\xe0\x9f\xbf", r + r + r},
      {"\xc3\xa9\xc3", "\xc3\xa9" + r},
  };
  for (const auto& [bytes, wanted] : cases) {
    TextStream stream("");
    CHECK(through(stream, bytes) == wanted);
  }
}

TEST_CASE("nothing of the stop text comes out, wherever its pieces end") {
  for (const std::string& text : {std::string("one END two"), std::string("EEND"), std::string("ENENDx")}) {
    TextStream stream("END");
    CHECK(through(stream, text) == text.substr(0, text.find("END")));
    CHECK(stream.stopped());
    CHECK(stream.push("more") == "");
  }
}

TEST_CASE("what might have been a stop text comes out when it is none") {
  TextStream stream("END");
  CHECK(stream.push("xE") == "x");
  CHECK(stream.push("N") == "");
  CHECK(stream.push("!") == "EN!");
  CHECK(stream.push("EN") == "");
  CHECK(stream.finish() == "EN");
  CHECK(!stream.stopped());
}

TEST_CASE("a stop text may cut a character") {
  TextStream stream("\xa9");
  CHECK(through(stream, "a\xc3\xa9z") == std::string("a") + replacement);
}

TEST_CASE("take_utf8 leaves the beginning of a character") {
  std::string bytes = "ab\xe2\x82";
  CHECK(take_utf8(bytes) == "ab");
  CHECK(bytes == "\xe2\x82");
}
