#include "config/pattern.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "refusal.hpp"

using namespace switchyard;

namespace {

bool match(const char* pattern, const char* name) { return Pattern::parse(pattern).matches(name); }

}  // namespace

TEST_CASE("wildcards") {
  CHECK(match("h.3", "h.3"));
  CHECK(!match("h.3", "h.31"));
  CHECK(!match("h.3", "xh.3"));
  CHECK(match("*", ""));
  CHECK(match("*", "anything.at.all"));
  CHECK(match("h.*", "h.3.attn"));
  CHECK(!match("h.*", "head"));
  CHECK(match("*.attn", "h.3.attn"));
  CHECK(!match("*.attn", "h.3.attn.qkv"));
  CHECK(match("h.?", "h.3"));
  CHECK(!match("h.?", "h.31"));
  CHECK(!match("h.?", "h."));
  CHECK(match("a*b*c", "a-b-b-c"));
  CHECK(!match("a*b*c", "a-b-b"));
  CHECK(match("**", "x"));
}

TEST_CASE("ranges count both ends and take whole numbers only") {
  CHECK(match("h.{0..16}", "h.0"));
  CHECK(match("h.{0..16}", "h.16"));
  CHECK(!match("h.{0..16}", "h.17"));
  CHECK(!match("h.{0..16}", "h.161"));
  CHECK(!match("h.{0..16}", "h.01"));
  CHECK(!match("h.{0..16}", "h."));
  CHECK(match("h.{8..12}.attn", "h.10.attn"));
  CHECK(match("{1..2}{3..4}", "13"));
  CHECK(match("{5..5}", "5"));
  CHECK(match("{0..999999999}", "999999999"));
}

TEST_CASE("alternatives") {
  CHECK(match("{embed,head}", "embed"));
  CHECK(match("{embed,head}", "head"));
  CHECK(!match("{embed,head}", "embedhead"));
  CHECK(match("h.{0,{3..5},x*}.attn", "h.0.attn"));
  CHECK(match("h.{0,{3..5},x*}.attn", "h.4.attn"));
  CHECK(match("h.{0,{3..5},x*}.attn", "h.xyz.attn"));
  CHECK(!match("h.{0,{3..5},x*}.attn", "h.2.attn"));
  CHECK(match("a{,b}", "a"));
  CHECK(match("a{,b}", "ab"));
  CHECK(match("{a}", "a"));
  CHECK(match("a,b", "a,b"));
}

TEST_CASE("the prefix type: is taken off") {
  Pattern pattern = Pattern::parse("type:batchnorm*");
  CHECK(pattern.by_type());
  CHECK(pattern.matches("batchnorm_fp32"));
  CHECK(!pattern.matches("type:batchnorm"));
  CHECK(!Pattern::parse("batchnorm").by_type());
}

TEST_CASE("exact patterns hold no wildcard") {
  CHECK(Pattern::parse("h.3").exact());
  for (const char* text : {"h.*", "h.?", "h.{0..3}", "{a,b}"}) CHECK(!Pattern::parse(text).exact());
}

TEST_CASE("wrong patterns say what is wrong and where") {
  Place place{"f.toml", 3, 7};
  auto text = [&](const char* pattern) { return refusal([&] { Pattern::parse(pattern, place); }); };
  CHECK_HOLDS(text(""), "f.toml:3:7: pattern \"\" is empty");
  CHECK_HOLDS(text("type:"), "is empty");
  CHECK_HOLDS(text("h.{0..3"), "'{' without a '}'");
  CHECK_HOLDS(text("h.{a,b"), "'{' without a '}'");
  CHECK_HOLDS(text("h.0}"), "'}' without a '{'");
  CHECK_HOLDS(text("h.{}"), "empty '{}'");
  CHECK_HOLDS(text("h.{5..3}"), "first number is the larger one");
  CHECK_HOLDS(text("h.{0..x}"), "of the form {0..16}");
  CHECK_HOLDS(text("h.{0..}"), "of the form {0..16}");
  CHECK_HOLDS(text("h.{-1..3}"), "of the form {0..16}");
  CHECK_HOLDS(text("h.{0..99999999999}"), "of the form {0..16}");
  CHECK_HOLDS(text(std::string(5000, 'a').c_str()), "longer than 4096 bytes");
  CHECK_HOLDS(text(std::string(100, '{').c_str()), "32 braces");
}

TEST_CASE("matching takes no exponential time") {
  std::string pattern, name(2000, 'a');
  for (int i = 0; i < 200; ++i) pattern += "*{a,aa,aaa}";
  auto begin = std::chrono::steady_clock::now();
  CHECK(!Pattern::parse(pattern + "b").matches(name));
  CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(5));
}

TEST_CASE("braces expand in order") {
  CHECK(expand_braces("cuda:{0..2}", {}) == std::vector<std::string>{"cuda:0", "cuda:1", "cuda:2"});
  CHECK(expand_braces("{cpu,cuda}:{0..1}", {}) == std::vector<std::string>{"cpu:0", "cpu:1", "cuda:0", "cuda:1"});
  CHECK(expand_braces("plain", {}) == std::vector<std::string>{"plain"});
  CHECK_HOLDS(refusal([] { expand_braces("cpu:{0..99999}", {}); }), "more than 65536 names");
  CHECK_HOLDS(refusal([] { expand_braces("{0..999}{0..999}", {}); }), "more than 65536 names");
}
