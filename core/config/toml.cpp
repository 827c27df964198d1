#include "config/toml.hpp"

#include <toml++/toml.h>

#include <algorithm>
#include <sstream>

namespace switchyard {
namespace {

constexpr int most_nested = 128;
constexpr int most_key_parts = 32;

/// Finds keys of absurdly many parts, each of which would be a level of recursion in everything that walks the tree.
class KeyLengthCheck {
 public:
  KeyLengthCheck(const std::string& text, const std::string& file) : text_(text), file_(file) {}

  void run() {
    while (at_ < text_.size()) {
      char c = text_[at_];
      if (c == '"' || c == '\'')
        skip_string(c);
      else if (c == '#')
        skip_to_line_end();
      else
        count(c), ++at_;
    }
  }

 private:
  void count(char c) {
    if (c == '\n') ++line_;
    if (c == '.' && ++dots_ >= most_key_parts)
      throw Error(
          SY_E_CONFIG, {file_, line_, 1},
          "a key has more than " + std::to_string(most_key_parts) + " parts; write it in quotes if it is one name");
    if (std::string_view("\n=,{}[]").find(c) != std::string_view::npos) dots_ = 0;
  }

  void skip_to_line_end() { at_ = std::min(text_.find('\n', at_), text_.size()); }

  void skip_string(char quote) {
    bool many = text_.compare(at_, 3, std::string(3, quote)) == 0;
    at_ += many ? 3 : 1;
    for (; at_ < text_.size(); ++at_) {
      if (text_[at_] == '\\' && quote == '"') {
        ++at_;
      } else if (text_[at_] == '\n') {
        if (!many) return;
        ++line_;
      } else if (text_.compare(at_, many ? 3 : 1, std::string(many ? 3 : 1, quote)) == 0) {
        at_ += many ? 3 : 1;
        return;
      }
    }
  }

  const std::string& text_;
  const std::string& file_;
  std::size_t at_ = 0;
  int line_ = 1;
  int dots_ = 0;
};

/// Turns the library's nodes into values.
class Converter {
 public:
  explicit Converter(const std::string& file) : file_(file) {}

  Value table(const toml::table& from, const Place& around, int level) const {
    std::vector<std::pair<const toml::key*, const toml::node*>> members;
    for (auto&& [key, node] : from) members.emplace_back(&key, &node);
    std::stable_sort(members.begin(), members.end(),
                     [](const auto& a, const auto& b) { return a.first->source().begin < b.first->source().begin; });
    Value::Table out;
    for (const auto& [key, node] : members) {
      Place place = place_of(key->source(), around);
      out.push_back({std::string(key->str()), place, value(*node, place, level + 1)});
    }
    Value result(std::move(out));
    result.is_inline = from.is_inline();
    return result;
  }

  Value value(const toml::node& node, const Place& around, int level) const {
    Place place = place_of(node.source(), around);
    if (level > most_nested) throw Error(SY_E_CONFIG, place, "nested more than 128 levels deep");
    Value out = content(node, place, level);
    out.place = place;
    return out;
  }

 private:
  Place place_of(const toml::source_region& source, const Place& around) const {
    if (!source.begin) return around;
    return {file_, static_cast<int>(source.begin.line), static_cast<int>(source.begin.column)};
  }

  Value content(const toml::node& node, const Place& place, int level) const {
    switch (node.type()) {
      case toml::node_type::boolean:
        return node.as_boolean()->get();
      case toml::node_type::integer:
        return std::int64_t{node.as_integer()->get()};
      case toml::node_type::floating_point:
        return node.as_floating_point()->get();
      case toml::node_type::string:
        return node.as_string()->get();
      case toml::node_type::date:
        return date(*node.as_date());
      case toml::node_type::time:
        return date(*node.as_time());
      case toml::node_type::date_time:
        return date(*node.as_date_time());
      case toml::node_type::table:
        return table(*node.as_table(), place, level);
      case toml::node_type::array: {
        Value::Array items;
        for (const toml::node& item : *node.as_array()) items.push_back(value(item, place, level + 1));
        return items;
      }
      case toml::node_type::none:
        break;
    }
    throw Error(SY_E_INTERNAL, place, "a TOML value without a kind");
  }

  template <class T>
  static Value date(const toml::value<T>& from) {
    std::ostringstream text;
    text << from.get();
    return Value::Date{text.str()};
  }

  const std::string& file_;
};

void put_everywhere(Value& value, const Place& place) {
  value.place = place;
  if (value.is(Value::Kind::array)) {
    for (Value& item : value.array()) put_everywhere(item, place);
  } else if (value.is(Value::Kind::table)) {
    for (Value::Member& member : value.table()) {
      member.place = place;
      put_everywhere(member.value, place);
    }
  }
}

}  // namespace

Value parse_toml(const std::string& text, const std::string& file) {
  KeyLengthCheck(text, file).run();
  try {
    toml::table document = toml::parse(text, std::string_view(file));
    Value out = Converter(file).table(document, {file, 0, 0}, 0);
    out.place = {file, 0, 0};
    return out;
  } catch (const toml::parse_error& error) {
    const toml::source_position& at = error.source().begin;
    std::string description = on_one_line(std::string(error.description()));
    constexpr std::string_view preface = "Error while parsing ";
    if (description.starts_with(preface)) description.erase(0, preface.size());
    throw Error(SY_E_CONFIG, {file, std::max<int>(1, at.line), std::max<int>(1, at.column)}, "TOML: " + description);
  }
}

std::optional<Value> parse_toml_value(const std::string& text, const Place& place) {
  // As the only item of an array the text cannot end in a comment or bring further keys; on its own it cannot close the
  // array.
  try {
    Value alone = parse_toml("v = " + text, "");
    Value listed = parse_toml("v = [" + text + "]", "");
    const Value* list = listed.find("v");
    bool one = alone.table().size() == 1 && listed.table().size() == 1 && list && list->is(Value::Kind::array) &&
               list->array().size() == 1 &&
               write_toml_value(list->array()[0]) == write_toml_value(alone.table()[0].value);
    std::size_t last = text.find_last_not_of(" \t\r\n");
    if (!one || last == std::string::npos || text[last] == ',') return std::nullopt;
    Value out = std::move(alone.table()[0].value);
    put_everywhere(out, place);
    return out;
  } catch (const Error&) {
    return std::nullopt;
  }
}

}  // namespace switchyard
