// The page: what other texts may hold does not change what it is. tests/cli/page_test.py looks at it in a browser.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "planning.hpp"

using namespace planning;

namespace {

std::string between(const std::string& text, const std::string& begin, const std::string& end) {
  const std::size_t from = text.find(begin) + begin.size();
  return text.substr(from, text.find(end, from) - from);
}

}  // namespace

TEST_CASE("texts with markup stay texts") {
  Planned p = make(deep(2) + on(2) + training);
  p.plan.why = "</script><!-- <script> \" \\ {{script}} ü \xe2\x80\xa8";
  const std::string html = plan_html(p.plan, *p.model, "</title><b> & {{plan}}");
  const std::string json = between(html, "id=\"plan-json\">", "</script>");
  CHECK(nlohmann::json::parse(json)["why"] == p.plan.why);
  CHECK(nlohmann::json::parse(json) == nlohmann::json::parse(plan_json(p.plan, *p.model)));
  CHECK(between(html, "<title>", "</title>") == "&lt;/title>&lt;b> &amp; {{plan}}");
  CHECK(contains(html, "function fillGlance"));
}
