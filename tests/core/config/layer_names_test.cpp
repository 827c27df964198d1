#include "config/layer_names.hpp"

#include <doctest/doctest.h>

#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

/// embed(0), h.0.attn(1), h.0.norm(2), h.1.attn(3), h.1.norm(4), tail.0(5), tail.1(6), head(7)
const std::vector<LayerEntry>& model() {
  static const std::vector<LayerEntry> layers = [] {
    Value document = parse_toml(
        "[[layer]]\ntype='embedding'\nname='embed'\n[[layer]]\nname='h'\nrepeat=2\n[[layer.layer]]\ntype='attention'\n"
        "name='attn'\n[[layer.layer]]\ntype='batchnorm'\nname='norm'\n[[layer]]\ntype='linear'\nname='tail'\nrepeat=2\n"
        "[[layer]]\ntype='lm_head'\nname='head'\n",
        "f");
    ErrorList errors;
    return expand_layers(*document.find("layer"), errors);
  }();
  return layers;
}

std::vector<int> matched(const char* pattern) {
  return match_layers(model(), Pattern::parse(pattern, {"f", 9, 1}), "keep");
}

/// The rule for each layer, as digits; '-' where there is none. Rules are "pattern=value".
std::string chosen(const std::vector<std::pair<const char*, const char*>>& rules) {
  std::vector<Pattern> patterns;
  for (const auto& rule : rules) patterns.push_back(Pattern::parse(rule.first, {"f", 9, 1}));
  ErrorList errors;
  auto same = [&](int a, int b) { return std::string(rules[a].second) == rules[b].second; };
  std::string text;
  for (int rule : choose_rules(model(), patterns, same, "explicit", errors))
    text += rule < 0 ? '-' : static_cast<char>('0' + rule);
  errors.raise();
  return text;
}

}  // namespace

TEST_CASE("a name is a layer's, or a group copy's, which stands for its first part") {
  CHECK(find_layer(model(), "h.1.attn") == 3);
  CHECK(find_layer(model(), "h.1") == 3);
  CHECK(find_layer(model(), "tail.1") == 6);
  CHECK(find_layer(model(), "h") == -1);
  CHECK(find_layer(model(), "x") == -1);
}

TEST_CASE("a name that is none gets a hint") {
  auto text = [](const char* name) { return refusal([&] { require_layer(model(), name, {"f", 3, 4}, "cuts"); }); };
  CHECK(text("h.1") == "");
  CHECK_HOLDS(text("haed"), "f:3:4: cuts: there is no layer 'haed'; did you mean 'head'?");
  CHECK_HOLDS(text("h"), "it is repeated: write 'h.0' to 'h.1', or the pattern \"h.*\"");
}

TEST_CASE("patterns match layers, group copies and types") {
  CHECK(matched("*") == std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7});
  CHECK(matched("h.*") == std::vector<int>{1, 2, 3, 4});
  CHECK(matched("h.?") == std::vector<int>{1, 2, 3, 4});
  CHECK(matched("h.1") == std::vector<int>{3, 4});
  CHECK(matched("h.{1..5}") == std::vector<int>{3, 4});
  CHECK(matched("*.norm") == std::vector<int>{2, 4});
  CHECK(matched("type:batchnorm*") == std::vector<int>{2, 4});
  CHECK(matched("{embed,head}") == std::vector<int>{0, 7});
}

TEST_CASE("a pattern that matches nothing is an error with its place") {
  auto text = [](const char* pattern) { return refusal([&] { matched(pattern); }); };
  CHECK_HOLDS(text("x.*"), "f:9:1: keep: \"x.*\" matches no layer");
  CHECK_HOLDS(text("haed"), "did you mean 'head'?");
  CHECK_HOLDS(text("tail"), "it is repeated: write 'tail.0' to 'tail.1'");
  CHECK_HOLDS(text("type:batchnrom"), "did you mean 'batchnorm'?");
  CHECK_HOLDS(text("type:h.*"), "matches no layer");
}

TEST_CASE("several patterns are joined, and each must match") {
  ErrorList errors;
  auto named = match_any(model(), {Pattern::parse("embed"), Pattern::parse("*.norm")}, "keep", errors);
  CHECK(named == std::vector<bool>{true, false, true, false, true, false, false, false});
  CHECK(errors.empty());
  match_any(model(), {Pattern::parse("x"), Pattern::parse("*"), Pattern::parse("y")}, "keep", errors);
  CHECK(lines(refusal([&] { errors.raise(); })) == 2);
}

TEST_CASE("an exact name beats a group copy, which beats a pattern") {
  CHECK(chosen({{"*", "a"}, {"head", "b"}}) == "00000001");
  CHECK(chosen({{"head", "b"}, {"*", "a"}}) == "11111110");
  CHECK(chosen({{"h.*", "a"}, {"h.1", "b"}, {"h.1.norm", "c"}}) == "-0012---");
  CHECK(chosen({{"embed", "a"}}) == "0-------");
}

TEST_CASE("two patterns that disagree are refused, naming both") {
  std::string text = refusal([] { chosen({{"h.*", "a"}, {"*.norm", "b"}}); });
  CHECK_HOLDS(text, "explicit: \"h.*\" and \"*.norm\" disagree about layer 2 'h.0.norm' (batchnorm)");
  CHECK(lines(text) == 1);
  CHECK(chosen({{"h.*", "a"}, {"*.norm", "a"}}) == "-0000---");
  CHECK(chosen({{"h.*", "a"}, {"*.norm", "b"}, {"h.0.norm", "c"}, {"h.1.norm", "c"}}) == "-0203---");
  CHECK_HOLDS(refusal([] { chosen({{"type:linear", "a"}, {"tail.*", "b"}}); }), "disagree");
}

TEST_CASE("a rule that matches nothing is refused, also when others place everything") {
  CHECK_HOLDS(refusal([] { chosen({{"*", "a"}, {"h.7", "b"}}); }), "\"h.7\" matches no layer");
}
