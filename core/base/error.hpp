// The one exception type of the core. It never leaves the library: api/ turns it into an sy_error.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "switchyard/base.h"

namespace switchyard {

/// Where in a file something stands. Lines and columns count from 1; line 0 means the whole file; an empty file: nowhere.
struct Place {
  std::string file;
  int line = 0;
  int column = 0;
  /// "file:line:column: ", "file: " or "".
  std::string prefix() const;
};

/// A failure with a code, one line of text per mistake (what was expected, what was found, what to write instead) and
/// facts such as layer, stage, device, micro-batch.
class Error : public std::runtime_error {
 public:
  Error(sy_rc code, const std::string& text) : std::runtime_error(text), code_(code) {}
  Error(sy_rc code, const Place& place, const std::string& text) : Error(code, place.prefix() + text) {}

  sy_rc code() const { return code_; }
  /// Adds a fact; a key that is already there keeps its first value.
  Error& note(const std::string& key, const std::string& value);
  /// The value of a fact, or nullptr.
  const std::string* note(const std::string& key) const;
  const std::vector<std::pair<std::string, std::string>>& notes() const { return notes_; }

 private:
  sy_rc code_;
  std::vector<std::pair<std::string, std::string>> notes_;
};

/// Collects mistakes of one configuration or file, so that a person sees them all at once.
class ErrorList {
 public:
  static constexpr std::size_t most = 20;
  void add(const Place& place, const std::string& text);
  bool empty() const { return lines_.empty(); }
  /// Throws one Error with a line per mistake (at most `most`) when there is any.
  void raise(sy_rc code = SY_E_CONFIG) const;

 private:
  std::vector<std::string> lines_;
};

}  // namespace switchyard
