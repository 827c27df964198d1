// Strict checking of a table against published options. Core tables and plugins use this one mechanism.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/value.hpp"
#include "switchyard/base.h"

namespace switchyard {

/// Types beyond SY_T_* that only the core's own tables use.
enum : std::uint32_t {
  T_TABLE = 100,  // a table that its owner checks
  T_ANY = 101     // its owner checks it; `wanted` says what may stand there
};

/// A copy of sy_option that owns its text.
///  * A list of strings may be written as one string. Lists of numbers must be lists.
///  * An integer may stand where a float is wanted, never the reverse. Floats are always finite.
///  * `choices` of a number are words that may stand in its place: size = 2 or size = "global".
///  * `fallback` empty: the key may be missing and then has no value; getters give false, 0, "" or no items.
///  * `min` a tiny positive number (up to DBL_MIN): above zero.
struct OptionSpec {
  std::string key;
  std::uint32_t type = SY_T_STR;
  std::optional<std::string> fallback;  // default as TOML text; nothing: required
  double min = 1, max = 0;              // inclusive, of numbers and of the items of lists; min > max: none
  std::vector<std::string> choices;
  std::string unit;
  std::string help;
  std::string wanted;  // T_ANY only: "true, false, a list of patterns or \"auto\""

  /// Reads a plugin's option. Throws Error(SY_E_ABI) for a missing key, an unknown type, or a size that ends before
  /// help.
  static OptionSpec from(const sy_option& option);
};

/// "an integer from 1 to 64", "\"a\" or \"b\"", "a list of strings": for messages, `describe` and the reference.
std::string wanted_text(const OptionSpec& spec);

/// A checked table: every published option has the user's value or the default. A copy is deep.
/// Getters throw Error(SY_E_NOT_FOUND) for a key that was not published, SY_E_ARGUMENT for another type than published,
/// SY_E_RANGE for an index past the end. i64() may be read as f64(), lists likewise.
class Options {
 public:
  bool published(const std::string& key) const;
  bool given(const std::string& key) const;  // the user wrote it
  bool has(const std::string& key) const;    // there is a value, the user's or a default
  bool sound() const { return sound_; }      // the check found no mistake
  /// Of the value; of the table when the key has its default.
  const Place& place(const std::string& key) const;
  const Value& value(const std::string& key) const;  // SY_E_NOT_FOUND also when there is no value

  bool boolean(const std::string& key) const;
  std::int64_t i64(const std::string& key) const;        // SY_E_STATE: a word stands there, see word()
  double f64(const std::string& key) const;              // the same
  const std::string& str(const std::string& key) const;  // lent as long as the Options live; also a number's word
  /// The word that stands in place of a number or list of numbers; empty: none does.
  const std::string& word(const std::string& key) const;
  std::size_t count(const std::string& key) const;  // items of a list; 0 when a word stands there
  std::int64_t i64_at(const std::string& key, std::size_t index) const;
  double f64_at(const std::string& key, std::size_t index) const;
  const std::string& str_at(const std::string& key, std::size_t index) const;
  std::vector<std::int64_t> i64s(const std::string& key) const;
  std::vector<double> f64s(const std::string& key) const;
  std::vector<std::string> strs(const std::string& key) const;

  /// Every option that has a value, in the published order; defaults have no place.
  Value table() const;
  const Place& place() const { return place_; }

 private:
  friend class OptionsCheck;
  struct Entry {
    OptionSpec spec;
    std::optional<Value> value;
    bool given = false;
  };
  const Entry& entry(const std::string& key) const;
  const Value& number(const std::string& key, bool integer_only) const;
  const Value* item(const std::string& key, std::size_t index, std::uint32_t type, std::uint32_t other_type) const;

  std::vector<Entry> entries_;
  Place place_;
  bool sound_ = true;
};

/// Checks every key of `table` and adds each mistake to `errors`; an option that was wrong has its default in the
/// result. `where` begins the messages and ends with what joins it to a key: "train." or "layer 4 'h.3' (gpt_block): ".
/// `also_known` are keys that somebody else has taken out of the table; they only serve as hints.
/// Throws Error(SY_E_ABI) when a published default does not fit its own option or a key is published twice.
Options check_options(const Value& table, const std::vector<OptionSpec>& specs, ErrorList& errors,
                      const std::string& where, const std::vector<std::string>& also_known = {});

}  // namespace switchyard
