#include <algorithm>
#include <charconv>
#include <cmath>

#include "config/toml.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

std::string quoted(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return '"' + on_one_line(out) + '"';
}

/// The shortest text that reads back to the same double, and reads back as a float.
std::string real_text(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
  char buffer[64];
  std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
  std::size_t exponent = text.find('e');
  if (exponent == std::string::npos) return text.find('.') == std::string::npos ? text + ".0" : text;
  // 1e-08 and 1e+22 as people write them: 1e-8, 1e22.
  std::size_t digits = text[exponent + 1] == '-' ? exponent + 2 : exponent + 1;
  return text.erase(digits, text.find_first_not_of("+0", digits) - digits);
}

bool is_section(const Value& value) {
  if (value.is(Kind::table)) return !value.is_inline;
  if (!value.is(Kind::array) || value.array().empty()) return false;
  const auto& items = value.array();
  return std::all_of(items.begin(), items.end(), [](const Value& v) { return v.is(Kind::table) && !v.is_inline; });
}

class Writer {
 public:
  explicit Writer(const TomlComment& comment) : comment_(comment) {}

  void table(const std::string& path, const Value& table) {
    for (const Value::Member& member : table.table())
      if (!is_section(member.value)) line(member);
    for (const Value::Member& member : table.table())
      if (is_section(member.value)) section(path + write_toml_key(member.key), member.value);
  }

  std::string text;

 private:
  void line(const Value::Member& member) {
    text += write_toml_key(member.key) + " = " + write_toml_value(member.value);
    if (comment_)
      if (std::string said = comment_(member); !said.empty()) text += "\t# " + said;
    text += '\n';
  }

  void section(const std::string& path, const Value& value) {
    if (value.is(Kind::table)) return headed("[" + path + "]", path, value);
    for (const Value& item : value.array()) headed("[[" + path + "]]", path, item);
  }

  void headed(const std::string& header, const std::string& path, const Value& content) {
    if (!text.empty()) text += '\n';
    text += header + '\n';
    table(path + ".", content);
  }

  const TomlComment& comment_;
};

template <class Items, class Text>
std::string joined(const Items& items, const Text& text) {
  std::string out;
  for (const auto& item : items) out += (out.empty() ? "" : ", ") + text(item);
  return out;
}

}  // namespace

std::string write_toml_key(const std::string& key) {
  bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return bare ? key : quoted(key);
}

std::string write_toml_value(const Value& value) {
  switch (value.kind()) {
    case Kind::boolean:
      return value.boolean() ? "true" : "false";
    case Kind::integer:
      return std::to_string(value.integer());
    case Kind::real:
      return real_text(value.real());
    case Kind::string:
      return quoted(value.string());
    case Kind::date:
      return value.date();
    case Kind::array:
      return "[" + joined(value.array(), write_toml_value) + "]";
    case Kind::table: {
      if (value.table().empty()) return "{}";
      auto member = [](const Value::Member& m) { return write_toml_key(m.key) + " = " + write_toml_value(m.value); };
      return "{ " + joined(value.table(), member) + " }";
    }
  }
  return "";
}

std::string write_toml(const Value& table, const TomlComment& comment) {
  Writer writer(comment);
  writer.table("", table);
  return writer.text;
}

}  // namespace switchyard
