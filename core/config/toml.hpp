// TOML text to values and back. The only unit that knows the parser library.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "config/value.hpp"

namespace switchyard {

/// Reads a whole document. `file` is the name that places carry. Throws Error(SY_E_CONFIG) with file, line and column
/// at the first mistake of syntax (also bad UTF-8, doubled keys, integers beyond 64 bits).
Value parse_toml(const std::string& text, const std::string& file);

/// Reads one value, such as `[1, 2]` or `"x"`, that takes up the whole text; nothing when the text is no TOML value.
/// Every place in it is `place`.
std::optional<Value> parse_toml_value(const std::string& text, const Place& place);

/// What is said about a key behind its value; empty: nothing. One line without control characters.
using TomlComment = std::function<std::string(const Value::Member&)>;

/// Writes a table as a document that parse_toml reads back to an equal value. Values come before sub-tables; tables
/// that were written in braces stay so. A comment is set off by one tab, which occurs nowhere else in the text.
std::string write_toml(const Value& table, const TomlComment& comment = {});

/// One value on one line: `{ type = "adamw", lr = 0.002 }`.
std::string write_toml_value(const Value& value);

/// A key as TOML wants it: bare where possible, else in quotes.
std::string write_toml_key(const std::string& key);

}  // namespace switchyard
