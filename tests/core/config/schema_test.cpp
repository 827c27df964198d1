#include "config/schema.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <limits>

#include "config/toml.hpp"
#include "refusal.hpp"

using namespace switchyard;

namespace {

std::vector<OptionSpec> specs() {
  return {
      {"flag", SY_T_BOOL, "true", 1, 0, {}, "", "a flag", ""},
      {"heads", SY_T_I64, std::nullopt, 1, 64, {}, "", "how many", ""},
      {"rate", SY_T_F64, "0.5", 0, 1, {}, "", "a rate", ""},
      {"name", SY_T_STR, "\"x\"", 1, 0, {}, "", "", ""},
      {"kind", SY_T_STR, "\"gelu\"", 1, 0, {"gelu", "relu"}, "", "", ""},
      {"size", SY_T_I64, "2", 1, 9, {"global"}, "", "", ""},
      {"counts", SY_T_I64S, "[1, 2]", 0, 9, {}, "", "", ""},
      {"betas", SY_T_F64S, "[0.9, 0.99]", 0, 1, {}, "", "", ""},
      {"cuts", SY_T_STRS, "[]", 1, 0, {}, "", "", ""},
      {"perhaps", SY_T_I64, "", 1, 0, {}, "", "", ""},
      {"free", SY_T_F64, "0", 1, 0, {}, "", "", ""},
  };
}

Options check(const std::string& text, ErrorList& errors) {
  return check_options(parse_toml(text, "f"), specs(), errors, "t.");
}

Options sound(const std::string& text) {
  ErrorList errors;
  Options options = check(text, errors);
  errors.raise();
  return options;
}

std::string wrong_options(const std::string& text) {
  return refusal([&] { sound(text); });
}

std::string wrong_heads(const std::string& text) { return wrong_options("heads = 1\n" + text); }

}  // namespace

TEST_CASE("defaults are filled in") {
  Options o = sound("heads = 4\n");
  CHECK(o.boolean("flag"));
  CHECK(o.i64("heads") == 4);
  CHECK(o.f64("rate") == 0.5);
  CHECK(o.str("kind") == "gelu");
  CHECK(o.i64s("counts") == std::vector<std::int64_t>{1, 2});
  CHECK(o.f64s("betas") == std::vector<double>{0.9, 0.99});
  CHECK(o.count("cuts") == 0);
  CHECK(o.given("heads"));
  CHECK(!o.given("rate"));
  CHECK(o.has("rate"));
  CHECK(!o.has("perhaps"));
  CHECK(o.i64("perhaps") == 0);
  CHECK(o.sound());
}

TEST_CASE("what is given replaces the default") {
  Options o = sound("heads=4\nflag=false\nrate=1\nname='y'\nkind='relu'\ncounts=[]\nbetas=[0, 1.0]\ncuts=['a','b']\n");
  CHECK(!o.boolean("flag"));
  CHECK(o.f64("rate") == 1.0);
  CHECK(o.str("name") == "y");
  CHECK(o.count("counts") == 0);
  CHECK(o.f64_at("betas", 0) == 0.0);
  CHECK(o.str_at("cuts", 1) == "b");
  CHECK(o.place("rate").line == 3);
}

TEST_CASE("one string may stand for a list of strings, one number not for a list of numbers") {
  Options o = sound("heads = 4\ncuts = 'h.17'\n");
  CHECK(o.strs("cuts") == std::vector<std::string>{"h.17"});
  CHECK_HOLDS(wrong_heads("counts = 3\n"),
              "t.counts: wanted a list of integers, each from 0 to 9, found an integer (3)");
}

TEST_CASE("a word may stand for a number where the option says so") {
  Options o = sound("heads = 4\nsize = 'global'\n");
  CHECK(o.word("size") == "global");
  CHECK(o.str("size") == "global");
  CHECK_THROWS_AS(o.i64("size"), Error);
  Options number = sound("heads = 4\nsize = 3\n");
  CHECK(number.word("size") == "");
  CHECK(number.i64("size") == 3);
  CHECK_HOLDS(wrong_heads("size = 'globl'\n"), "did you mean \"global\"?");
}

TEST_CASE("wrong types say what was wanted and what was found, with the place") {
  CHECK_HOLDS(wrong_options("heads = 4.0\n"), "f:1:9: t.heads: wanted an integer from 1 to 64, found a float (4.0)");
  CHECK_HOLDS(wrong_options("heads = '4'\n"), "found a string (\"4\")");
  CHECK_HOLDS(wrong_options("heads = true\n"), "found a boolean (true)");
  CHECK_HOLDS(wrong_options("heads = [4]\n"), "found an array ([4])");
  CHECK_HOLDS(wrong_options("heads = { a = 1 }\n"), "found a table");
  CHECK_HOLDS(wrong_options("heads = 2020-01-01\n"), "found a date (2020-01-01)");
  CHECK_HOLDS(wrong_heads("flag = 1\n"), "t.flag: wanted true or false, found an integer (1)");
  CHECK_HOLDS(wrong_heads("rate = '1'\n"), "t.rate: wanted a float from 0.0 to 1.0, found a string");
  CHECK_HOLDS(wrong_heads("name = 3\n"), "t.name: wanted a string, found an integer");
  CHECK_HOLDS(wrong_heads("kind = 'geul'\n"),
              "wanted \"gelu\" or \"relu\", found a string (\"geul\"); did you mean \"gelu\"?");
  CHECK_HOLDS(wrong_heads("cuts = ['a', 3]\n"), "f:2:14: t.cuts: wanted a list of strings, found an integer (3)");
  CHECK_HOLDS(wrong_heads("counts = [1.0]\n"), "found a float (1.0)");
}

TEST_CASE("numbers out of range are refused, and nothing stands in for them") {
  for (const char* value : {"0", "65", "-1", "9223372036854775807"})
    CHECK_HOLDS(wrong_options(std::string("heads = ") + value + "\n"), "t.heads: wanted an integer from 1 to 64");
  for (const char* value : {"-0.1", "1.1", "2", "inf", "-inf", "nan"})
    CHECK_HOLDS(wrong_heads(std::string("rate = ") + value + "\n"), "t.rate: wanted a float from 0.0 to 1.0");
  for (const char* value : {"inf", "nan"})
    CHECK_HOLDS(wrong_heads(std::string("free = ") + value + "\n"), "t.free: wanted a float, found a float");
  CHECK_HOLDS(wrong_heads("betas = [0.5, 1.5]\n"), "found a float (1.5)");
  CHECK_HOLDS(wrong_options("heads = 9223372036854775808\n"), "f:1:");
}

TEST_CASE("a missing option is named with its meaning") {
  CHECK_HOLDS(wrong_options("rate = 0.1\n"), "t.heads is missing; wanted an integer from 1 to 64: how many");
}

TEST_CASE("unknown keys are named with the nearest known one") {
  CHECK_HOLDS(wrong_heads("haeds = 3\n"), "f:2:1: t.haeds: unknown key; did you mean 'heads'?");
  CHECK_HOLDS(wrong_heads("zzzzzz = 3\n"), "t.zzzzzz: unknown key; known: flag, heads");
  CHECK_HOLDS(wrong_heads("\"odd key\" = 3\n"), "t.\"odd key\": unknown key");
}

TEST_CASE("all mistakes are collected, at most twenty are listed") {
  CHECK(lines(wrong_options("flag = 1\nrate = 2\nfoo = 3\n")) == 4);
  std::string many;
  for (int i = 0; i < 30; ++i) many += "unknown_" + std::to_string(i) + " = 1\n";
  std::string text = wrong_heads(many);
  CHECK(lines(text) == 21);
  CHECK_HOLDS(text, "and 10 more mistakes");
}

TEST_CASE("an option that was wrong has its default") {
  ErrorList errors;
  Options o = check("heads = 'x'\nrate = 7\n", errors);
  CHECK(o.f64("rate") == 0.5);
  CHECK(!o.given("rate"));
  CHECK(!o.sound());
  CHECK(o.i64("heads") == 0);
}

TEST_CASE("getters refuse what was not published, other types, and indices past the end") {
  Options o = sound("heads = 4\n");
  auto code = [](auto action) {
    try {
      action();
    } catch (const Error& error) {
      return error.code();
    }
    return sy_rc{SY_OK};
  };
  CHECK(code([&] { o.i64("zzz"); }) == SY_E_NOT_FOUND);
  CHECK(code([&] { o.given("zzz"); }) == SY_E_NOT_FOUND);
  CHECK(code([&] { o.count("zzz"); }) == SY_E_NOT_FOUND);
  CHECK(code([&] { o.value("perhaps"); }) == SY_E_NOT_FOUND);
  CHECK(code([&] { o.i64("rate"); }) == SY_E_ARGUMENT);
  CHECK(code([&] { o.f64("name"); }) == SY_E_ARGUMENT);
  CHECK(code([&] { o.boolean("heads"); }) == SY_E_ARGUMENT);
  CHECK(code([&] { o.str("heads"); }) == SY_E_ARGUMENT);
  CHECK(code([&] { o.count("heads"); }) == SY_E_ARGUMENT);
  CHECK(code([&] { o.i64_at("betas", 0); }) == SY_E_ARGUMENT);
  CHECK(code([&] { o.i64_at("counts", 2); }) == SY_E_RANGE);
  CHECK(o.f64("heads") == 4.0);
  CHECK(o.f64_at("counts", 1) == 2.0);
}

TEST_CASE("a plugin's option is copied, by its own size") {
  const char* words[] = {"a", "b", nullptr};
  sy_option option{sizeof(sy_option), SY_T_STR, "key", "\"a\"", 1, 0, words, "s", "help"};
  OptionSpec spec = OptionSpec::from(option);
  CHECK(spec.key == "key");
  CHECK(spec.fallback == "\"a\"");
  CHECK(spec.choices == std::vector<std::string>{"a", "b"});
  CHECK(spec.unit == "s");
  option.fallback = nullptr;
  CHECK(!OptionSpec::from(option).fallback);
  option.size = sizeof(sy_option) + 64;
  CHECK(OptionSpec::from(option).help == "help");
  option.size = 8;
  CHECK_THROWS_AS(OptionSpec::from(option), Error);
  option.size = sizeof(sy_option);
  option.type = 99;
  CHECK_HOLDS(refusal([&] { OptionSpec::from(option); }), "unknown type 99");
  option.type = SY_T_STR;
  option.key = nullptr;
  CHECK_HOLDS(refusal([&] { OptionSpec::from(option); }), "without a key");
}

TEST_CASE("a published default that does not fit is the plugin's mistake") {
  auto text = [](OptionSpec spec) {
    ErrorList errors;
    return refusal([&] { check_options(Value(), {spec}, errors, ""); });
  };
  CHECK_HOLDS(text({"k", SY_T_I64, "0", 1, 9, {}, "", "", ""}),
              "publishes the default 0, which is not an integer from 1 to 9");
  CHECK_HOLDS(text({"k", SY_T_STR, "unquoted", 1, 0, {}, "", "", ""}), "publishes the default unquoted");
  ErrorList errors;
  OptionSpec twice{"k", SY_T_I64, "1", 1, 0, {}, "", "", ""};
  CHECK_HOLDS(refusal([&] { check_options(Value(), {twice, twice}, errors, ""); }), "published twice");
}

TEST_CASE("ranges are told in words") {
  auto text = [](std::uint32_t type, double min, double max) {
    return wanted_text({"k", type, "", min, max, {}, "", "", ""});
  };
  double tiny = std::numeric_limits<double>::min();
  CHECK(text(SY_T_I64, 1, 0) == "an integer");
  CHECK(text(SY_T_I64, 1, 1e19) == "an integer of 1 or more");
  CHECK(text(SY_T_F64, tiny, 1e300) == "a float above 0");
  CHECK(text(SY_T_F64, tiny, 1) == "a float above 0 and up to 1.0");
  CHECK(text(SY_T_F64, -1e300, 1) == "a float of at most 1.0");
  CHECK(text(SY_T_F64, -1e300, 1e300) == "a float");
}

TEST_CASE("options turn back into a table, defaults without a place") {
  Options o = sound("heads = 4\n");
  Value table = o.table();
  CHECK(table.find("heads")->place.line == 1);
  CHECK(table.find("rate")->place.file.empty());
  CHECK(table.find("perhaps") == nullptr);
  CHECK(table.table()[0].key == "flag");
}
