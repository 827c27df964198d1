#include "config/pattern.hpp"

#include <algorithm>
#include <cctype>

#include "config/value.hpp"

namespace switchyard {
namespace {

constexpr std::size_t most_letters = 4096;
constexpr int most_levels = 32;

bool all_digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](unsigned char c) { return std::isdigit(c); });
}

/// What a pattern consists of: letters and wildcards, ranges, lists of alternatives.
struct Item;
using Sequence = std::vector<Item>;
struct Item {
  enum class Kind { literal, any, star, range, alternatives } kind;
  char letter = 0;
  long low = 0, high = 0;
  std::vector<Sequence> alternatives;
};

/// text = { letter | "*" | "?" | "{" NUMBER ".." NUMBER "}" | "{" text { "," text } "}" }
class Parser {
 public:
  Parser(const std::string& text, const Place& place) : text_(text), place_(place) {}

  Sequence parse(std::size_t from) {
    if (text_.size() <= from) throw fail("is empty");
    if (text_.size() > most_letters) throw fail("is longer than 4096 bytes");
    at_ = from;
    Sequence all = sequence(0);
    if (at_ < text_.size()) throw fail("has a '}' without a '{'");
    return all;
  }

 private:
  Error fail(const std::string& why) const {
    return Error(SY_E_CONFIG, place_, "pattern \"" + on_one_line(text_) + "\" " + why);
  }

  Sequence sequence(int level) {
    if (level > most_levels) throw fail("has more than 32 braces within each other");
    Sequence items;
    for (; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '}' || (c == ',' && level > 0)) break;
      if (c == '*')
        items.push_back({Item::Kind::star, 0, 0, 0, {}});
      else if (c == '?')
        items.push_back({Item::Kind::any, 0, 0, 0, {}});
      else if (c == '{')
        items.push_back(brace(level));
      else
        items.push_back({Item::Kind::literal, c, 0, 0, {}});
    }
    return items;
  }

  /// at_ is on the '{' before and on the '}' after.
  Item brace(int level) {
    std::size_t end = text_.find_first_of("{},", at_ + 1);
    if (end != std::string::npos && text_[end] == '}') {
      std::string_view inside = std::string_view(text_).substr(at_ + 1, end - at_ - 1);
      if (inside.empty()) throw fail("has an empty '{}'");
      std::size_t dots = inside.find("..");
      if (dots != std::string::npos) {
        at_ = end;
        return range(inside.substr(0, dots), inside.substr(dots + 2));
      }
    }
    Item item{Item::Kind::alternatives, 0, 0, 0, {}};
    do {
      ++at_;
      item.alternatives.push_back(sequence(level + 1));
    } while (at_ < text_.size() && text_[at_] == ',');
    if (at_ >= text_.size()) throw fail("has a '{' without a '}'");
    return item;
  }

  Item range(std::string_view low, std::string_view high) const {
    if (!all_digits(low) || !all_digits(high) || low.size() > 9 || high.size() > 9)
      throw fail("has a range that is not of the form {0..16}");
    Item item{Item::Kind::range, 0, std::stol(std::string(low)), std::stol(std::string(high)), {}};
    if (item.low > item.high) throw fail("has a range whose first number is the larger one");
    return item;
  }

  const std::string& text_;
  const Place& place_;
  std::size_t at_ = 0;
};

class Expander {
 public:
  Expander(const std::string& text, const Place& place, std::size_t most) : text_(text), place_(place), most_(most) {}

  std::vector<std::string> sequence(const Sequence& items) const {
    std::vector<std::string> texts = {""};
    for (const Item& item : items) {
      std::vector<std::string> endings = one(item);
      check(texts.size() * endings.size());
      std::vector<std::string> longer;
      for (const std::string& begin : texts)
        for (const std::string& end : endings) longer.push_back(begin + end);
      texts = std::move(longer);
    }
    return texts;
  }

 private:
  std::vector<std::string> one(const Item& item) const {
    switch (item.kind) {
      case Item::Kind::literal:
        return {std::string(1, item.letter)};
      case Item::Kind::any:
        return {"?"};
      case Item::Kind::star:
        return {"*"};
      case Item::Kind::range: {
        check(static_cast<std::size_t>(item.high - item.low) + 1);
        std::vector<std::string> numbers;
        for (long n = item.low; n <= item.high; ++n) numbers.push_back(std::to_string(n));
        return numbers;
      }
      case Item::Kind::alternatives: {
        std::vector<std::string> all;
        for (const Sequence& alternative : item.alternatives) {
          std::vector<std::string> some = sequence(alternative);
          all.insert(all.end(), some.begin(), some.end());
          check(all.size());
        }
        return all;
      }
    }
    return {};
  }

  void check(std::size_t count) const {
    if (count > most_)
      throw Error(SY_E_CONFIG, place_,
                  "\"" + on_one_line(text_) + "\" stands for more than " + std::to_string(most_) + " names");
  }

  const std::string& text_;
  const Place& place_;
  std::size_t most_;
};

}  // namespace

/// Lays the items out as a graph, from the end to the beginning.
class Pattern::Builder {
 public:
  explicit Builder(std::vector<Node>& nodes) : nodes_(nodes) {}

  int add(Node node) {
    nodes_.push_back(std::move(node));
    return static_cast<int>(nodes_.size()) - 1;
  }

  int sequence(const Sequence& items, int next) {
    for (auto item = items.rbegin(); item != items.rend(); ++item) next = one(*item, next);
    return next;
  }

 private:
  int one(const Item& item, int next) {
    switch (item.kind) {
      case Item::Kind::literal:
        return add({Node::Kind::literal, item.letter, 0, 0, next, {}});
      case Item::Kind::any:
        return add({Node::Kind::any, 0, 0, 0, next, {}});
      case Item::Kind::star:
        return add({Node::Kind::star, 0, 0, 0, next, {}});
      case Item::Kind::range:
        return add({Node::Kind::range, 0, item.low, item.high, next, {}});
      case Item::Kind::alternatives: {
        Node split{Node::Kind::split, 0, 0, 0, -1, {}};
        for (const Sequence& alternative : item.alternatives) split.choices.push_back(sequence(alternative, next));
        return add(std::move(split));
      }
    }
    return next;
  }

  std::vector<Node>& nodes_;
};

/// Walks the graph; no pair of node and position is tried twice.
class Pattern::Matcher {
 public:
  Matcher(const std::vector<Node>& nodes, std::string_view name)
      : nodes_(nodes), name_(name), tried_(nodes.size() * (name.size() + 1)) {}

  bool from(int index, std::size_t at) {
    while (nodes_[index].kind == Node::Kind::literal || nodes_[index].kind == Node::Kind::any) {
      const Node& node = nodes_[index];
      if (at >= name_.size() || (node.kind == Node::Kind::literal && node.letter != name_[at])) return false;
      index = node.next;
      ++at;
    }
    if (!first_try(index, at)) return false;
    const Node& node = nodes_[index];
    switch (node.kind) {
      case Node::Kind::end:
        return at == name_.size();
      case Node::Kind::star:
        return star(index, at);
      case Node::Kind::split:
        return std::any_of(node.choices.begin(), node.choices.end(), [&](int choice) { return from(choice, at); });
      case Node::Kind::range:
        return range(node, at);
      case Node::Kind::literal:
      case Node::Kind::any:
        break;
    }
    return false;
  }

 private:
  bool first_try(int index, std::size_t at) {
    auto mark = tried_.begin() + static_cast<std::ptrdiff_t>(index * (name_.size() + 1) + at);
    if (*mark) return false;
    *mark = true;
    return true;
  }

  bool star(int index, std::size_t at) {
    do {
      if (from(nodes_[index].next, at)) return true;
    } while (++at <= name_.size() && first_try(index, at));
    return false;
  }

  bool range(const Node& node, std::size_t at) {
    long number = 0;
    for (std::size_t end = at;
         end < name_.size() && end - at < 9 && std::isdigit(static_cast<unsigned char>(name_[end]));) {
      number = number * 10 + (name_[end] - '0');
      ++end;
      if (number >= node.low && number <= node.high && from(node.next, end)) return true;
      if (number == 0) return false;  // no leading zeros
    }
    return false;
  }

  const std::vector<Node>& nodes_;
  std::string_view name_;
  std::vector<bool> tried_;
};

Pattern Pattern::parse(const std::string& text, const Place& place) {
  constexpr std::string_view type_prefix = "type:";
  Pattern pattern;
  pattern.text_ = text;
  pattern.place_ = place;
  pattern.by_type_ = text.starts_with(type_prefix);
  pattern.exact_ = text.find_first_of("*?{}") == std::string::npos;
  Sequence items = Parser(text, place).parse(pattern.by_type_ ? type_prefix.size() : 0);
  Builder builder(pattern.nodes_);
  int end = builder.add({});
  pattern.start_ = builder.sequence(items, end);
  return pattern;
}

bool Pattern::matches(std::string_view name) const {
  // A default-made pattern has no nodes and matches nothing.
  return !nodes_.empty() && Matcher(nodes_, name).from(start_, 0);
}

std::vector<std::string> expand_braces(const std::string& text, const Place& place, std::size_t most) {
  Sequence items = Parser(text, place).parse(0);
  return Expander(text, place, most).sequence(items);
}

}  // namespace switchyard
