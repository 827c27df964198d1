#include "config/set.hpp"

#include <algorithm>
#include <cctype>

#include "config/nearest.hpp"
#include "config/toml.hpp"

namespace switchyard {
namespace {

using Kind = Value::Kind;

bool blank(char c) { return c == ' ' || c == '\t'; }

/// One argument, taken apart.
struct Setting {
  Place place;
  std::vector<std::string> path;
  Value value;
};

/// KEY is parts with dots between; a part is bare (anything but . = and quotes) or in quotes.
class SettingParser {
 public:
  explicit SettingParser(const std::string& text) : text_(text), place_{"--set " + on_one_line(text), 0, 0} {}

  Setting parse() {
    Setting setting;
    setting.place = place_;
    setting.path.push_back(part());
    for (; at_ < text_.size() && text_[at_] == '.';) {
      ++at_;
      setting.path.push_back(part());
    }
    if (at_ >= text_.size() || text_[at_] != '=') throw fail("wanted KEY=VALUE, found no '=' after the key");
    std::string value = text_.substr(at_ + 1);
    auto parsed = parse_toml_value(value, place_);
    setting.value = parsed ? std::move(*parsed) : Value(value);
    setting.value.place = place_;
    return setting;
  }

 private:
  Error fail(const std::string& why) const { return Error(SY_E_CONFIG, place_, why); }

  std::string part() {
    skip_blanks();
    std::string name = at_ < text_.size() && (text_[at_] == '"' || text_[at_] == '\'') ? quoted_part() : bare_part();
    skip_blanks();
    return name;
  }

  std::string bare_part() {
    std::size_t end = std::min(text_.find_first_of(".=\"'", at_), text_.size());
    std::string name = text_.substr(at_, end - at_);
    while (!name.empty() && blank(name.back())) name.pop_back();
    if (name.empty()) throw fail("wanted KEY=VALUE; a part of the key is empty");
    at_ = end;
    return name;
  }

  std::string quoted_part() {
    char quote = text_[at_];
    std::size_t end = at_ + 1;
    while (end < text_.size() && text_[end] != quote) end += text_[end] == '\\' && quote == '"' ? 2 : 1;
    if (end >= text_.size()) throw fail("a quote in the key is not closed");
    auto name = parse_toml_value(text_.substr(at_, end + 1 - at_), place_);
    if (!name) throw fail("a part of the key in quotes is no TOML string");
    at_ = end + 1;
    return name->string();
  }

  void skip_blanks() {
    while (at_ < text_.size() && blank(text_[at_])) ++at_;
  }

  const std::string& text_;
  Place place_;
  std::size_t at_ = 0;
};

class Application {
 public:
  Application(Value& document, const Setting& setting) : document_(document), setting_(setting) {}

  void run() {
    Value* node = &document_;
    for (; at_ + 1 < setting_.path.size(); ++at_) node = step(*node);
    put(*node);
  }

 private:
  Error fail(const std::string& why) const { return Error(SY_E_CONFIG, setting_.place, why); }

  /// "train.optimizer": the path up to the part before `end`.
  std::string path_text(std::size_t end) const {
    std::string text;
    for (std::size_t i = 0; i < end; ++i) text += (i ? "." : "") + write_toml_key(setting_.path[i]);
    return text.empty() ? "the file" : text;
  }

  Value* step(Value& node) {
    const std::string& part = setting_.path[at_];
    if (node.is(Kind::array)) return &entry(node, part);
    if (!node.is(Kind::table)) throw no_table(node);
    if (Value* inner = node.find(part)) return inner;
    if (part == "layer") throw fail(path_text(at_) + " has no [[layer]] entries");
    Value made;
    made.place = setting_.place;
    return &node.set(part, std::move(made));
  }

  void put(Value& node) {
    const std::string& part = setting_.path[at_];
    if (node.is(Kind::table)) {
      node.set(part, setting_.value);
      for (Value::Member& member : node.table())
        if (member.key == part) member.place = setting_.place;
      return;
    }
    if (!node.is(Kind::array)) throw no_table(node);
    entry(node, part);
    throw fail(path_text(at_ + 1) + " is a whole entry; name a key of it: " + path_text(at_ + 1) + ".KEY=VALUE");
  }

  Error no_table(const Value& node) const {
    return fail(path_text(at_) + " is " + kind_name(node.kind()) + ", no table; it has no key '" +
                on_one_line(setting_.path[at_]) + "'");
  }

  /// An entry of a list of tables by number or name.
  Value& entry(Value& list, const std::string& part) const {
    auto& items = list.array();
    bool tables = std::all_of(items.begin(), items.end(), [](const Value& v) { return v.is(Kind::table); });
    if (items.empty() || !tables)
      throw fail(path_text(at_) + " is a list; set it as a whole: " + path_text(at_) + "=[...]");
    if (std::all_of(part.begin(), part.end(), [](unsigned char c) { return std::isdigit(c); }))
      return numbered(items, part);
    return named(items, part);
  }

  Value& numbered(Value::Array& items, const std::string& part) const {
    std::size_t number = part.size() > 9 ? items.size() : std::stoul(part);
    if (number >= items.size())
      throw fail("there is no entry " + part + " in " + path_text(at_) + ": the file has " +
                 std::to_string(items.size()) + " (numbers count from 0, before repeat is expanded)");
    return items[number];
  }

  Value& named(Value::Array& items, const std::string& part) const {
    Value* found = nullptr;
    std::vector<std::string> names;
    for (Value& item : items) {
      const Value* name = item.find("name");
      if (!name || !name->is(Kind::string)) continue;
      names.push_back(name->string());
      if (name->string() != part) continue;
      if (found) throw fail("two entries of " + path_text(at_) + " are called '" + part + "'; use their numbers");
      found = &item;
    }
    if (!found)
      throw fail("no entry of " + path_text(at_) + " is called '" + on_one_line(part) + "'" +
                 did_you_mean(part, names) + " (names as in the file, before repeat is expanded; or a number from 0)");
    return *found;
  }

  Value& document_;
  const Setting& setting_;
  std::size_t at_ = 0;
};

}  // namespace

void apply_sets(Value& document, const std::vector<std::string>& sets) {
  for (const std::string& text : sets) {
    Setting setting = SettingParser(text).parse();
    Application(document, setting).run();
  }
}

}  // namespace switchyard
