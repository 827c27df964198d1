#include "data/csv.hpp"

#include <doctest/doctest.h>

#include <random>

#include "../store/temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

using Records = std::vector<std::vector<std::string>>;

Records read(const std::string& text) {
  CsvReader reader(text, "t.csv");
  std::vector<CsvField> fields;
  Records records;
  while (reader.next(fields)) {
    records.emplace_back();
    for (const CsvField& field : fields) records.back().push_back(field.text);
  }
  return records;
}

std::string refusal(const std::string& text) {
  return failure([&] { read(text); });
}

}  // namespace

TEST_CASE("records of RFC 4180") {
  CHECK(read("a,b,c\n1,2,3\n") == Records{{"a", "b", "c"}, {"1", "2", "3"}});
  CHECK(read("a,b\r\n1,2\r\n") == Records{{"a", "b"}, {"1", "2"}});
  CHECK(read("a,b\n1,2") == Records{{"a", "b"}, {"1", "2"}});
  CHECK(read("a,\n,\n") == Records{{"a", ""}, {"", ""}});
  CHECK(read("\"a,b\",\"say \"\"hi\"\"\",\"two\nlines\",\"\"\n") == Records{{"a,b", "say \"hi\"", "two\nlines", ""}});
  CHECK(read(" a , b \n") == Records{{" a ", " b "}});
  CHECK(read("\xEF\xBB\xBFx,y\n") == Records{{"x", "y"}});
  CHECK(read("a\n\n\r\nb\n\n") == Records{{"a"}, {"b"}});
  CHECK(read("") == Records{});
  CHECK(read("\n\n") == Records{});
  CHECK(read("a\rb\n") == Records{{"a\rb"}});
}

TEST_CASE("every field knows its line and column") {
  CsvReader reader("a,\"x\ny\",c\nd,e,f", "t.csv");
  std::vector<CsvField> fields;
  REQUIRE(reader.next(fields));
  CHECK((fields[1].line == 1 && fields[1].column == 3));
  CHECK((fields[2].line == 2 && fields[2].column == 4));
  REQUIRE(reader.next(fields));
  CHECK((fields[2].line == 3 && fields[2].column == 5));
}

TEST_CASE("what breaks the rules is refused with its place") {
  CHECK(refusal("a,b\n1,\"2\n") == "15 t.csv:2:3: this quote does not end");
  CHECK(refusal("a\n\"1\"2\n").starts_with("15 t.csv:2:4: text after a closing quote"));
  CHECK(refusal("a\n1\"2\n").starts_with("15 t.csv:2:2: a quote inside a field"));
  CsvReader reader("a,b\n1,2\n1,2,3\n", "t.csv");
  std::vector<CsvField> fields;
  CHECK((reader.next(fields) && reader.next(fields, 2)));
  CHECK(failure([&] { reader.next(fields, 2); }) == "15 t.csv:3:1: this line has 3 fields, the header has 2");
}

TEST_CASE("any fields survive quoting") {
  std::mt19937 random(2);
  const std::string letters = "ab,\"\n\r ";
  for (int i = 0; i < 2000; ++i) {
    Records records(1 + random() % 3);
    std::string text;
    for (auto& record : records) {
      for (int f = 0; f < 3; ++f) {
        std::string field;
        for (unsigned n = random() % 6; n > 0; --n) field += letters[random() % letters.size()];
        text += f ? ",\"" : "\"";
        for (const char c : field) text += c == '"' ? "\"\"" : std::string(1, c);
        text += "\"";
        record.push_back(field);
      }
      text += random() % 2 ? "\r\n" : "\n";
    }
    REQUIRE(read(text) == records);
  }
}
