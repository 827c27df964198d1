#include "report/loss_svg.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "../store/temp_folder.hpp"
#include "report/svg.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::vector<Metrics> reports(int count) {
  std::vector<Metrics> result;
  for (int i = 1; i <= count; ++i) {
    Metrics metrics;
    metrics.step = i * 10;
    metrics.loss = 5.0 / i;
    if (i % 10 == 0) metrics.val_loss = 5.5 / i;
    result.push_back(metrics);
  }
  return result;
}

int count(const std::string& text, const std::string& part) {
  int found = 0;
  for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++found;
  return found;
}

/// The "x,y" pairs of the first polyline of a kind.
std::vector<std::pair<double, double>> points(const std::string& svg, const std::string& kind) {
  const std::string start = "<polyline class=\"" + kind + "\" points=\"";
  auto at = svg.find(start);
  REQUIRE(at != svg.npos);
  at += start.size();
  std::vector<std::pair<double, double>> result;
  const std::string list = svg.substr(at, svg.find('"', at) - at);
  for (std::size_t i = 0; i < list.size(); i = std::min(list.find(' ', i), list.size() - 1) + 1) {
    double x = 0, y = 0;
    REQUIRE(std::sscanf(list.c_str() + i, "%lf,%lf", &x, &y) == 2);
    result.emplace_back(x, y);
  }
  return result;
}

}  // namespace

TEST_CASE("the picture stands by itself, in light and dark") {
  const std::string svg = loss_svg(reports(100), "a <b> & \"c\"");
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox="));
  CHECK(svg.ends_with("</svg>\n"));
  CHECK(contains(svg, "prefers-color-scheme: dark"));
  CHECK(!contains(svg, "script"));
  CHECK(!contains(svg, "href"));
  CHECK(contains(svg, "<title>a &lt;b&gt; &amp; &quot;c&quot;</title>"));
  CHECK(contains(svg, ">training</text>"));
  CHECK(contains(svg, ">held out</text>"));
  CHECK(contains(svg, ">step</text>"));
  CHECK(contains(svg, ">loss</text>"));
  CHECK(count(svg, "<polyline") == 3);
  CHECK(count(svg, "<circle") == 11);  // 10 and one in the legend
}

TEST_CASE("curves fill the plot: the last step at the right, the largest loss at the top") {
  const auto raw = points(loss_svg(reports(100), "t"), "raw");
  REQUIRE(raw.size() == 100);
  CHECK(raw.back().first == doctest::Approx(836));
  CHECK(raw.front().first == doctest::Approx(64 + 7.72).epsilon(0.01));
  for (std::size_t i = 1; i < raw.size(); ++i) {
    REQUIRE(raw[i].first > raw[i - 1].first);
    REQUIRE(raw[i].second >= raw[i - 1].second);  // the loss falls, y grows downwards
  }
  CHECK((raw.front().second > 64 && raw.front().second < 80));
  CHECK((raw.back().second < 408 && raw.back().second > 390));
}

TEST_CASE("the running mean is calmer than the curve and keeps its ends") {
  auto noisy = reports(0);
  for (int i = 1; i <= 200; ++i) {
    Metrics metrics;
    metrics.step = i;
    metrics.loss = i % 2 ? 3.0 : 2.0;
    noisy.push_back(metrics);
  }
  const std::string svg = loss_svg(noisy, "t");
  const auto raw = points(svg, "raw"), mean = points(svg, "mean");
  REQUIRE(mean.size() == raw.size());
  CHECK(mean.front() == raw.front());
  CHECK(mean.back() == raw.back());
  CHECK(std::abs(mean[100].second - mean[101].second) < 0.1 * std::abs(raw[100].second - raw[101].second));
}

TEST_CASE("long curves are thinned, the last point stays") {
  const auto raw = points(loss_svg(reports(50001), "t"), "raw");
  CHECK(raw.size() <= 2001);
  CHECK(raw.size() > 1000);
  CHECK(raw.back().first == doctest::Approx(836));
}

TEST_CASE("few, equal, huge or missing losses give a picture all the same") {
  CHECK(contains(loss_svg({}, "t"), "no loss was reported"));
  auto one = reports(1);
  CHECK(points(loss_svg(one, "t"), "raw").size() == 2);
  CHECK(!contains(loss_svg(one, "t"), "held out"));
  one[0].loss = 1e300;
  CHECK(!contains(loss_svg(one, "t"), "nan"));
  one[0].step = 0;
  CHECK(!contains(loss_svg(one, "t"), "nan"));
  one[0].loss = std::nan("");
  CHECK(contains(loss_svg(one, "t"), "no loss was reported"));
  one[0].val_loss = 3;
  CHECK(count(loss_svg(one, "t"), "<circle") == 2);
}

TEST_CASE("ticks are round numbers inside the range") {
  CHECK(axis_ticks(0, 2000, 8) == std::vector<double>{0, 500, 1000, 1500, 2000});
  CHECK(axis_ticks(1.4, 5.6, 6) == std::vector<double>{2, 3, 4, 5});
  CHECK(axis_ticks(-1, 1, 4) == std::vector<double>{-1, -0.5, 0, 0.5, 1});
  for (double high = 1e-6; high < 1e9; high *= 1.37) {
    const auto ticks = axis_ticks(0, high, 6);
    REQUIRE(ticks.size() >= 3);
    REQUIRE(ticks.size() <= 7);
  }
  CHECK(contains(loss_svg(reports(3000), "t"), ">10 k</text>"));
}
