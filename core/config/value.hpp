// A TOML value of our own: what a file or a --set says, and where it says so.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.hpp"

namespace switchyard {

/// One value of a TOML document. Tables keep their keys in the order in which they were written. A copy is deep.
/// Accessors of another kind than kind() throw Error(SY_E_INTERNAL): ask first.
class Value {
 public:
  enum class Kind { boolean, integer, real, string, date, array, table };
  struct Member;  // key, place of the key, value; below
  struct Date {
    std::string text;  // as TOML writes it
    bool operator==(const Date&) const = default;
  };
  using Array = std::vector<Value>;
  using Table = std::vector<Member>;

  Value();  // an empty table
  Value(bool value);
  Value(int value);
  Value(std::int64_t value);
  Value(double value);
  Value(const char* value);
  Value(std::string value);
  Value(Date value);
  Value(Array value);
  Value(Table value);

  Kind kind() const { return static_cast<Kind>(data_.index()); }
  bool is(Kind wanted) const { return kind() == wanted; }
  bool is_number() const { return is(Kind::integer) || is(Kind::real); }

  bool boolean() const;
  std::int64_t integer() const;
  double real() const;  // an integer is converted
  const std::string& string() const;
  const std::string& date() const;
  const Array& array() const;
  Array& array();
  const Table& table() const;
  Table& table();

  /// The value of a key; nullptr when there is none or this is no table. Lent until the table changes.
  const Value* find(std::string_view key) const;
  Value* find(std::string_view key);
  /// Replaces the value of a key (which keeps its position and takes the new place), or appends it. Tables only.
  Value& set(const std::string& key, Value value);
  /// Takes a key away; false: there was none.
  bool erase(std::string_view key);

  /// Content only: neither places nor `is_inline` count; the order of keys does not count either.
  bool operator==(const Value& other) const;

  Place place;             // of the value's first character; no file: a default
  bool is_inline = false;  // a table written in braces

 private:
  std::variant<bool, std::int64_t, double, std::string, Date, Array, Table> data_;
};

struct Value::Member {
  std::string key;
  Place place;  // of the key
  Value value;
  bool operator==(const Member& other) const;
};

/// "an integer", "a float", "a string", ...: for messages.
const char* kind_name(Value::Kind kind);

/// The text with control characters as TOML's escapes: for messages, which are one line each.
std::string on_one_line(const std::string& text);

/// True when the place is that of a --set argument (its file is then "--set KEY=VALUE" and it has no line).
bool from_set(const Place& place);

}  // namespace switchyard
