#include <doctest/doctest.h>

#include <vector>

#include "base/account.hpp"
#include "plugin/host.hpp"

using namespace switchyard;

namespace {
struct Line {
  int level;
  std::string where, text;
};
}  // namespace

TEST_CASE("log lines reach the sink with level, place and device") {
  std::vector<Line> lines;
  set_log_sink([&](int level, const std::string& where, const std::string& text) {
    lines.push_back({level, where, text});
  });
  const sy_host* h = host_table();
  h->log(h->self, nullptr, 2, "linear", "ready");
  h->log(h->self, make_account("cpu:1", 0), 99, "linear", "odd");
  h->log(h->self, make_account("cpu:1", 0), -1, nullptr, nullptr);
  set_log_sink({});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].level == 2);
  CHECK(lines[0].text == "ready");
  CHECK(lines[1].level == 4);
  CHECK(lines[1].where == "linear on cpu:1");
  CHECK(lines[2].level == 0);
  CHECK(lines[2].where == "cpu:1");
}

TEST_CASE("a sink may log and may replace itself") {
  int calls = 0;
  set_log_sink([&](int level, const std::string&, const std::string&) {
    ++calls;
    if (level == 2) log(1, "sink", "again");
    set_log_sink({});
  });
  log(2, "test", "once");
  CHECK(calls >= 2);
  log(0, "test", "below what stderr shows");
}
