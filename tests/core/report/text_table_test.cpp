#include "report/text_table.hpp"

#include <doctest/doctest.h>

#include "base/error.hpp"

using namespace switchyard;

TEST_CASE("columns are aligned and no line ends with blanks") {
  TextTable table({Align::left, Align::right, Align::left}, {"device", "weights", "layers"});
  table.add({"cuda:0", "379 MiB", "embed h.0"});
  table.add({"cpu", "-"});
  CHECK(table.text() ==
        "device  weights  layers\n"
        "cuda:0  379 MiB  embed h.0\n"
        "cpu           -\n");
  CHECK(table.text(2).starts_with("  device"));
}

TEST_CASE("widths count characters, not bytes") {
  TextTable table({Align::left, Align::left});
  table.add({"\xC3\xA9\xC3\xA9", "a"});
  table.add({"xyz", "b"});
  CHECK(table.text() == "\xC3\xA9\xC3\xA9   a\nxyz  b\n");
}

TEST_CASE("too many cells are a mistake of ours") {
  TextTable table({Align::left});
  CHECK_THROWS_AS(table.add({"a", "b"}), Error);
  CHECK(TextTable({Align::left}).text() == "");
}
