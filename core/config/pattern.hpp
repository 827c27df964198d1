// Patterns over names: `*` any characters (also dots), `?` one character, `{0..16}` a number of the range (both ends
// count, no leading zeros), `{a,b}` alternatives, which may hold patterns again. The whole name must match.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.hpp"

namespace switchyard {

class Pattern {
 public:
  /// Throws Error(SY_E_CONFIG) at `place` when the text is empty, longer than 4096 bytes, or a brace is wrong.
  static Pattern parse(const std::string& text, const Place& place = {});

  /// Whether the whole name matches. Time is at most proportional to pattern length x name length. For `type:...` the
  /// caller hands over a type instead of a name.
  bool matches(std::string_view name) const;
  bool by_type() const { return by_type_; }  // began with "type:"
  bool exact() const { return exact_; }      // holds none of * ? { }
  const std::string& text() const { return text_; }
  const Place& place() const { return place_; }

 private:
  struct Node {
    enum class Kind { literal, any, star, split, range, end } kind = Kind::end;
    char letter = 0;
    long low = 0, high = 0;
    int next = -1;
    std::vector<int> choices;  // split: where each alternative begins
  };
  class Builder;
  class Matcher;

  std::string text_;
  Place place_;
  bool by_type_ = false;
  bool exact_ = true;
  std::vector<Node> nodes_;
  int start_ = 0;
};

/// All texts that `{0..3}` and `{a,b}` stand for, in order ("cuda:{0..1}" gives "cuda:0", "cuda:1"). `*` and `?` stay
/// as they are. Throws Error(SY_E_CONFIG) for a wrong brace or more than `most` texts.
std::vector<std::string> expand_braces(const std::string& text, const Place& place, std::size_t most = 65536);

}  // namespace switchyard
