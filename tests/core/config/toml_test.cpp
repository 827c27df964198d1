#include "config/toml.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "refusal.hpp"

using namespace switchyard;
using Kind = Value::Kind;

TEST_CASE("every kind of value is read") {
  Value v = parse_toml(
      "b = true\ni = -7\nf = 1e3\ns = 'x'\nd = 1979-05-27\na = [1, 'two', [3]]\nt = { k = 1 }\n[section]\nk = 2\n",
      "f");
  CHECK(v.find("b")->boolean());
  CHECK(v.find("i")->integer() == -7);
  CHECK(v.find("f")->real() == 1000.0);
  CHECK(v.find("s")->string() == "x");
  CHECK(v.find("d")->date() == "1979-05-27");
  CHECK(v.find("a")->array().size() == 3);
  CHECK(v.find("t")->is_inline);
  CHECK(v.find("t")->find("k")->integer() == 1);
  CHECK(!v.find("section")->is_inline);
  CHECK(v.find("none") == nullptr);
}

TEST_CASE("keys keep the order in which they were written") {
  Value v = parse_toml("z = 1\na = 2\n[m.q]\nk = 1\n[b]\n[m.c]\n", "f");
  REQUIRE(v.table().size() == 4);
  CHECK(v.table()[0].key == "z");
  CHECK(v.table()[1].key == "a");
  CHECK(v.table()[2].key == "m");
  CHECK(v.table()[3].key == "b");
  CHECK(v.table()[2].value.table()[0].key == "q");
  CHECK(v.table()[2].value.table()[1].key == "c");
}

TEST_CASE("values and keys know their places") {
  Value v = parse_toml("a = 1\n\n[t]\n  long_key = [10,\n  20]\n[[l]]\nx.y = 1\n", "dir/f.toml");
  const Value::Member& t = v.table()[1];
  CHECK(t.place.line == 3);
  CHECK(t.place.column == 2);
  const Value::Member& key = t.value.table()[0];
  CHECK(key.place.prefix() == "dir/f.toml:4:3: ");
  CHECK(key.value.place.prefix() == "dir/f.toml:4:14: ");
  CHECK(key.value.array()[1].place.prefix() == "dir/f.toml:5:3: ");
  const Value& entry = v.find("l")->array()[0];
  CHECK(entry.place.prefix() == "dir/f.toml:6:1: ");
  CHECK(entry.find("x")->find("y")->place.line == 7);
}

TEST_CASE("mistakes of syntax carry file, line and column") {
  auto place_of = [](const char* text) { return refusal([&] { parse_toml(text, "f.toml"); }); };
  CHECK_HOLDS(place_of("a = 1\nb = \n"), "f.toml:2:");
  CHECK_HOLDS(place_of("a = 1\na = 2\n"), "f.toml:2:");
  CHECK_HOLDS(place_of("a = 9223372036854775808\n"), "f.toml:1:");
  CHECK_HOLDS(place_of("a = \"\xff\"\n"), "f.toml:1:");
  CHECK_HOLDS(place_of("\n\n[t\n"), "f.toml:3:");
  CHECK_HOLDS(place_of("a = tru\n"), "f.toml:1:");
  CHECK(lines(place_of("a = tru\nb = 1")) == 1);
}

TEST_CASE("a file of absurd depth is an error, not a crash") {
  std::string deep = "a";
  for (int i = 0; i < 200000; ++i) deep += ".a";
  CHECK_HOLDS(refusal([&] { parse_toml("x = 1\n" + deep + " = 1\n", "f"); }), "f:2:1: a key has more than 32 parts");
  CHECK_HOLDS(refusal([&] { parse_toml("[" + deep + "]\n", "f"); }), "more than 32 parts");
  CHECK(refusal([&] { parse_toml("a = " + std::string(100000, '['), "f"); }) != "");
  std::string tables;
  for (int i = 0; i < 200; ++i) tables += "a = {";
  CHECK(refusal([&] { parse_toml(tables, "f"); }) != "");
  std::string nested = "a = 1", header = "a";
  for (int i = 0; i < 30; ++i) header += ".a";
  for (int i = 0; i < 10; ++i) nested = header + " = {" + nested + "}";
  CHECK_HOLDS(refusal([&] { parse_toml(nested, "f"); }), "128 levels");
}

TEST_CASE("dots in strings and comments are no depth") {
  std::string dots(100, '.');
  CHECK(refusal([&] {
          parse_toml("# " + dots + "\na = \"" + dots + "\\\"" + dots + "\"\nb = '" + dots + "'\nc = '''\n" + dots +
                         "\n'''\nd = \"\"\"" + dots + "\"\"\"\n\"" + dots + "\" = 1\n",
                     "f");
        }) == "");
}

TEST_CASE("a single value is read only when it takes up the whole text") {
  auto value = [](const char* text) { return parse_toml_value(text, {"--set x", 0, 0}); };
  CHECK(value("8")->integer() == 8);
  CHECK(value(" 8 ")->integer() == 8);
  CHECK(value("[1, 2]")->array().size() == 2);
  CHECK(value("[1,\n 2]")->array()[1].place.file == "--set x");
  CHECK(value("{ a = 1 }")->find("a")->place.file == "--set x");
  CHECK(value("\"8\"")->string() == "8");
  CHECK(std::isnan(value("nan")->real()));
  for (const char* text :
       {"", " ", "round_robin", "1, 2", "1,", "1 # x", "1]#", "1\nb = 2", "1]\n[t", "03", "a=b", "'"})
    CHECK_MESSAGE(!value(text), text);
}

TEST_CASE("what is written reads back equal") {
  const char* text =
      "a = 1\nb = 0.1\nbig = 1e300\nwhole = 2.0\nsmall = 5e-324\ns = \"q\\\" b\\\\ n\\n t\\t c\\u0001 \u00e9\"\n"
      "d = 2020-01-02T03:04:05Z\nl = [1, [2.5, 'x'], {}]\ni = { k = { m = 1 }, \"odd key\" = 2 }\n\"\" = 1\n"
      "[t.u]\nx = 1\n[[e]]\nn = 1\n[[e.f]]\nn = 2\n[[e.f]]\n[[e]]\n[z]\n";
  Value v = parse_toml(text, "f");
  std::string written = write_toml(v);
  Value again = parse_toml(written, "f");
  CHECK(again == v);
  CHECK(write_toml(again) == written);
  CHECK(again.find("i")->is_inline);
  CHECK_HOLDS(written, "whole = 2.0\n");
  CHECK_HOLDS(written, "[[e.f]]\n");
}

TEST_CASE("floats are written with all their digits") {
  for (double x : {0.1, 1.0 / 3, 2e-3, 1e22, -0.0, std::numeric_limits<double>::max(), 123456789.123456789}) {
    Value v = parse_toml("x = " + write_toml_value(Value(x)), "f");
    CHECK(v.find("x")->is(Kind::real));
    CHECK(v.find("x")->real() == x);
  }
  CHECK(write_toml_value(Value(std::numeric_limits<double>::infinity())) == "inf");
  CHECK(write_toml_value(Value(-std::numeric_limits<double>::infinity())) == "-inf");
}

TEST_CASE("comments follow one tab") {
  Value v = parse_toml("a = 1\n[t]\nb = \"x\\ty\"\n", "f");
  std::string written = write_toml(v, [](const Value::Member& m) { return m.key == "a" ? "" : "note " + m.key; });
  CHECK(written == "a = 1\n\n[t]\nb = \"x\\ty\"\t# note b\n");
}

TEST_CASE("a value read as another kind is an internal error that names both") {
  Value v(7);
  CHECK_THROWS_AS(v.string(), Error);
  CHECK_HOLDS(refusal([&] { v.string(); }), "a string is an integer");
  CHECK(v.real() == 7.0);
}

TEST_CASE("tables are changed in place") {
  Value v = parse_toml("a = 1\nb = 2\n", "f");
  v.set("a", Value("x"));
  v.set("c", Value(3));
  CHECK(v.table()[0].value.string() == "x");
  CHECK(v.table()[2].key == "c");
  CHECK(v.erase("b"));
  CHECK(!v.erase("b"));
  CHECK(v.table().size() == 2);
}

TEST_CASE("equality is about content, not about order or place") {
  CHECK(parse_toml("a = 1\nb = 2\n", "f") == parse_toml("\nb = 2\na = 1\n", "g"));
  CHECK(!(parse_toml("a = 1\n", "f") == parse_toml("a = 1.0\n", "f")));
  CHECK(!(parse_toml("a = 1\n", "f") == parse_toml("a = 1\nb = 1\n", "f")));
}
