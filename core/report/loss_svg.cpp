#include "report/loss_svg.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "report/svg.hpp"

namespace switchyard {
namespace {

using namespace svg;

constexpr double width = 860, height = 460;
constexpr double left = 64, right = 836, top = 64, bottom = 408;  // of the plot
constexpr double margin = 24;
constexpr std::size_t most_points = 2000;

// The held-out colour is told from the training one by its dots too.
constexpr const char* style = R"(<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #59636e }
.paper { fill: #ffffff }
.title { font-size: 16px; font-weight: 600; fill: #1f2328 }
.value { fill: #1f2328; font-weight: 600 }
.tick { font-variant-numeric: tabular-nums }
.grid { stroke: #dfe4ea; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-width: 1 }
.raw, .mean, .held { fill: none; stroke-linejoin: round; stroke-linecap: round }
.raw { stroke: #2f6fd6; stroke-width: 1; opacity: .4 }
.mean { stroke: #2f6fd6; stroke-width: 2.2 }
.held { stroke: #c2570c; stroke-width: 1.6 }
.dot { fill: #c2570c; stroke: #ffffff; stroke-width: 1.2 }
@media (prefers-color-scheme: dark) {
  text { fill: #9aa4af }
  .paper { fill: #0d1117 }
  .title, .value { fill: #e6edf3 }
  .grid { stroke: #242b33 }
  .axis { stroke: #59636e }
  .raw, .mean { stroke: #6ea8fe }
  .held { stroke: #f0954a }
  .dot { fill: #f0954a; stroke: #0d1117 }
}
</style>
)";

struct Point {
  double x = 0;
  double y = 0;
};
using Curve = std::vector<Point>;

Curve curve_of(std::span<const Metrics> reports, std::optional<double> Metrics::*value) {
  Curve curve;
  for (const Metrics& report : reports)
    if (report.*value && std::isfinite(*(report.*value)))
      curve.push_back({static_cast<double>(report.step), *(report.*value)});
  return curve;
}

/// The mean of each point and as many neighbours on either side, a twentieth of the curve in all; fewer at the ends, so
/// that the mean does not lag.
Curve running_mean(const Curve& curve) {
  std::vector<double> sums(curve.size() + 1, 0.0);
  for (std::size_t i = 0; i < curve.size(); ++i) sums[i + 1] = sums[i] + curve[i].y;
  Curve result;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const std::size_t reach = std::min({curve.size() / 40 + 1, i, curve.size() - 1 - i});
    result.push_back({curve[i].x, (sums[i + reach + 1] - sums[i - reach]) / static_cast<double>(2 * reach + 1)});
  }
  return result;
}

std::string path(const std::string& kind, const Curve& curve, const Axis& x, const Axis& y) {
  if (curve.empty()) return "";
  const std::size_t stride = (curve.size() + most_points - 1) / most_points;
  const auto shown = [&](const Point& point) { return pixel(x.at(point.x)) + "," + pixel(y.at(point.y)); };
  std::string points = shown(curve.front()) + " ";  // a single point, given twice, is drawn as a dot
  for (std::size_t i = stride; i + 1 < curve.size(); i += stride) points += shown(curve[i]) + " ";
  return "<polyline class=\"" + kind + "\" points=\"" + points + shown(curve.back()) + "\"/>\n";
}

std::string dot(double x, double y) {
  return "<circle class=\"dot\" cx=\"" + pixel(x) + "\" cy=\"" + pixel(y) + "\" r=\"3.4\"/>\n";
}

std::string dots(const Curve& curve, const Axis& x, const Axis& y) {
  std::string result;
  for (const Point& point : curve) result += dot(x.at(point.x), y.at(point.y));
  return result;
}

std::string axes(const Axis& x, const Axis& y) {
  std::string result;
  const auto rows = axis_ticks(y.low, y.high, 6);
  for (const double value : rows) {
    result += line("grid", left, y.at(value), right, y.at(value));
    result +=
        text_at(left - 8, y.at(value) + 4.5, "class=\"tick\" text-anchor=\"end\"", tick_text(value, rows[1] - rows[0]));
  }
  const auto columns = axis_ticks(x.low, x.high, 8);
  for (const double value : columns) {
    result += line("axis", x.at(value), bottom, x.at(value), bottom + 4);
    result += text_at(x.at(value), bottom + 20, "class=\"tick\" text-anchor=\"middle\"",
                      tick_text(value, columns[1] - columns[0]));
  }
  result += line("axis", left, bottom, right, bottom);
  result += text_at(right, bottom + 40, "text-anchor=\"end\"", "step");
  result += text_at(margin, top - 14, "", "loss");
  return result;
}

/// A sample of each line, its name, its last value; in columns that end at the plot's right edge.
std::string legend(const Curve& training, const Curve& held_out) {
  constexpr double column = 172, sample = 26, baseline = 30, middle = 25.5;
  std::string result;
  double x = right - column * (training.empty() || held_out.empty() ? 1 : 2);
  const auto entry = [&](const Curve& curve, const std::string& kind, const std::string& name) {
    if (curve.empty()) return;
    result += line(kind, x, middle, x + sample, middle);
    if (kind == "held") result += dot(x + sample / 2, middle);
    result += text_at(x + sample + 8, baseline, "", name);
    result += text_at(x + sample + 72, baseline, "class=\"value tick\"", number(curve.back().y, 3));
    x += column;
  };
  entry(training, "mean", "training");
  entry(held_out, "held", "held out");
  return result;
}

std::string plot(const Curve& training, const Curve& held_out) {
  Curve all = training;
  all.insert(all.end(), held_out.begin(), held_out.end());
  if (all.empty()) return text_at(width / 2, height / 2, "text-anchor=\"middle\"", "no loss was reported");
  const auto x_high = std::max_element(all.begin(), all.end(), [](Point a, Point b) { return a.x < b.x; });
  const auto [y_low, y_high] = std::minmax_element(all.begin(), all.end(), [](Point a, Point b) { return a.y < b.y; });
  const Axis x = axis_over(0.0, x_high->x, 0.0, left, right);
  const Axis y = axis_over(y_low->y, y_high->y, 0.04, bottom, top);
  const Curve mean = running_mean(training);
  return axes(x, y) + path("raw", training, x, y) + path("mean", mean, x, y) + path("held", held_out, x, y) +
         dots(held_out, x, y) + legend(mean, held_out);
}

}  // namespace

std::string loss_svg(std::span<const Metrics> reports, const std::string& title) {
  const std::string name = escaped(title);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width, 0) + " " +
                    number(height, 0) + "\" role=\"img\" aria-label=\"" + name + ": loss over steps\">\n<title>" +
                    name + "</title>\n";
  svg += style;
  svg += "<rect class=\"paper\" width=\"" + number(width, 0) + "\" height=\"" + number(height, 0) + "\"/>\n";
  svg += text_at(margin, 30, "class=\"title\"", name);
  svg += plot(curve_of(reports, &Metrics::loss), curve_of(reports, &Metrics::val_loss));
  return svg + "</svg>\n";
}

}  // namespace switchyard
