// Bytes of tokens as they come, given on as whole characters and without the stop text.
#pragma once

#include <string>
#include <string_view>

namespace switchyard {

/// One text. Bytes that are no UTF-8 become U+FFFD, one for each maximal part, as Unicode recommends.
class TextStream {
 public:
  /// `stop`: the text ends before these bytes; "": never.
  explicit TextStream(std::string stop) : stop_(std::move(stop)) {}

  /// Takes bytes and gives what may be shown: characters that are complete and cannot belong to the stop text.
  std::string push(std::string_view bytes);
  /// What is left at the end; afterwards the stream is empty.
  std::string finish();
  bool stopped() const { return stopped_; }

 private:
  std::string stop_;
  std::string held_;  // might be the stop text's beginning
  std::string tail_;  // the beginning of a character
  bool stopped_ = false;
};

/// The valid UTF-8 that `bytes` begins with, wrong bytes replaced; the beginning of a character at its end is left in
/// `bytes`, everything else is taken away.
std::string take_utf8(std::string& bytes);

}  // namespace switchyard
