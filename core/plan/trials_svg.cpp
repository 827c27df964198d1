// A sweep as a picture.
#include <algorithm>
#include <cmath>

#include "plan/choose.hpp"
#include "plan/layer_list.hpp"
#include "report/svg.hpp"

namespace switchyard {

namespace {

using namespace svg;

constexpr double width = 860, height = 520;
constexpr double left = 72, right = 664, top = 96, bottom = 464;  // of the plot
constexpr double margin = 24, key = 700;                          // of the names of colours

constexpr const char* style = R"(<style>
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: #59636e }
.paper { fill: #ffffff }
.title { font-size: 16px; font-weight: 600; fill: #1f2328 }
.value { fill: #1f2328; font-weight: 600 }
.tick { font-variant-numeric: tabular-nums }
.grid { stroke: #dfe4ea; stroke-width: 1 }
.axis { stroke: #8c959f; stroke-width: 1 }
.best { fill: none; stroke: #1f2328; stroke-width: 1.6 }
.c0 { --c: #2f6fd6 } .c1 { --c: #c2570c } .c2 { --c: #1a7f37 } .c3 { --c: #8250df } .c4 { --c: #bf3989 }
.c5 { --c: #0e7490 } .c6 { --c: #9a6700 } .c7 { --c: #59636e }
.dot { fill: var(--c); stroke: var(--c); stroke-width: 1.4; fill-opacity: .75 }
.hollow { fill-opacity: 0 }
@media (prefers-color-scheme: dark) {
  text { fill: #9aa4af }
  .paper { fill: #0d1117 }
  .title, .value { fill: #e6edf3 }
  .grid { stroke: #242b33 }
  .axis { stroke: #59636e }
  .best { stroke: #e6edf3 }
  .c0 { --c: #6ea8fe } .c1 { --c: #f0954a } .c2 { --c: #56d364 } .c3 { --c: #bc8cff } .c4 { --c: #f778ba }
  .c5 { --c: #39c5cf } .c6 { --c: #d4a72c } .c7 { --c: #9aa4af }
}
</style>
)";

/// A unit in which the largest value is easy to read.
struct Unit {
  double size;
  const char* name;
};

Unit unit_for(double largest, const std::vector<Unit>& ascending) {
  Unit best = ascending[0];
  for (const Unit& u : ascending)
    if (largest >= u.size) best = u;
  return best;
}

std::vector<std::string> schedules_of(const std::vector<Trial>& trials) {
  std::vector<std::string> names;
  for (const Trial& t : trials)
    if (std::find(names.begin(), names.end(), t.what.schedule) == names.end()) names.push_back(t.what.schedule);
  std::sort(names.begin(), names.end());
  return names;
}

std::string colour(const std::vector<std::string>& names, const std::string& schedule) {
  const auto at = std::find(names.begin(), names.end(), schedule) - names.begin();
  return "c" + std::to_string(std::min<std::ptrdiff_t>(at, 7));
}

std::string circle(const std::string& css_class, double x, double y, double r, const std::string& title = "") {
  return "<circle class=\"" + css_class + "\" cx=\"" + pixel(x) + "\" cy=\"" + pixel(y) + "\" r=\"" + pixel(r) + "\">" +
         (title.empty() ? "" : "<title>" + escaped(title) + "</title>") + "</circle>\n";
}

std::string name_of(const Trial& t) {
  return combination_text(t.what) + ", recompute " + recompute_text(t.what.recompute) + ": " + seconds_text(t.step_s) +
         ", " + size_text(t.peak) + " on " + t.device;
}

std::string axes(const Axis& x, const Axis& y, const Unit& time, const Unit& size) {
  std::string result;
  const auto rows = axis_ticks(y.low, y.high, 6);
  for (const double value : rows) {
    const double step = rows.size() > 1 ? rows[1] - rows[0] : 1;
    result += line("grid", left, y.at(value), right, y.at(value));
    result += text_at(left - 8, y.at(value) + 4.5, "class=\"tick\" text-anchor=\"end\"", tick_text(value, step));
  }
  const auto columns = axis_ticks(x.low, x.high, 7);
  for (const double value : columns) {
    const double step = columns.size() > 1 ? columns[1] - columns[0] : 1;
    result += line("axis", x.at(value), bottom, x.at(value), bottom + 4);
    result += text_at(x.at(value), bottom + 20, "class=\"tick\" text-anchor=\"middle\"", tick_text(value, step));
  }
  result += line("axis", left, bottom, right, bottom);
  result += text_at(right, bottom + 42, "text-anchor=\"end\"", std::string("step, ") + time.name);
  result += text_at(margin, top - 14, "", std::string("peak of the fullest device, ") + size.name);
  return result;
}

std::string keys(const std::vector<std::string>& names) {
  std::string result;
  double y = top + 8;
  for (const std::string& name : names) {
    result += circle("dot " + colour(names, name), key, y - 4, 4.5);
    result += text_at(key + 14, y, "", escaped(name));
    y += 22;
  }
  result += circle("dot hollow c7", key, y + 10, 4.5);
  result += text_at(key + 14, y + 14, "", "with recompute");
  result += circle("best", key, y + 32, 8);
  result += text_at(key + 14, y + 36, "", "the best");
  return result;
}

std::string plot(const std::vector<Trial>& fit) {
  double slowest = 0, largest = 0, fastest = INFINITY, smallest = INFINITY;
  for (const Trial& t : fit) {
    slowest = std::max(slowest, t.step_s), fastest = std::min(fastest, t.step_s);
    largest = std::max(largest, static_cast<double>(t.peak)),
    smallest = std::min(smallest, static_cast<double>(t.peak));
  }
  const Unit time = unit_for(slowest, {{1e-6, "us"}, {1e-3, "ms"}, {1, "s"}});
  const Unit size = unit_for(largest, {{1, "B"}, {1024, "KiB"}, {1048576, "MiB"}, {1073741824, "GiB"}});
  const Axis x = axis_over(fastest / time.size, slowest / time.size, 0.05, left, right);
  const Axis y = axis_over(smallest / size.size, largest / size.size, 0.05, bottom, top);
  const std::vector<std::string> names = schedules_of(fit);
  const auto across = [&](const Trial& t) { return x.at(t.step_s / time.size); };
  const auto up = [&](const Trial& t) { return y.at(static_cast<double>(t.peak) / size.size); };
  std::string result = axes(x, y, time, size);
  for (auto t = fit.rbegin(); t != fit.rend(); ++t) {
    const bool hollow = t->what.recompute.mode != RecomputeConfig::Mode::none;
    result += circle("dot " + colour(names, t->what.schedule) + (hollow ? " hollow" : ""), across(*t), up(*t), 4.5,
                     name_of(*t));
  }
  result += circle("best", across(fit[0]), up(fit[0]), 8, name_of(fit[0]));
  result += text_at(margin, 52, "class=\"value\"", "best: " + escaped(name_of(fit[0])));
  return result + keys(names);
}

}  // namespace

std::string trials_svg(const std::vector<Trial>& trials, const std::string& title) {
  std::vector<Trial> fit;
  std::copy_if(trials.begin(), trials.end(), std::back_inserter(fit), [](const Trial& t) { return t.fits; });
  const std::string name = escaped(title);
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " + number(width, 0) + " " +
                    number(height, 0) + "\" role=\"img\" aria-label=\"" + name +
                    ": step time against peak memory\">\n<title>" + name + "</title>\n";
  svg += style;
  svg += "<rect class=\"paper\" width=\"" + number(width, 0) + "\" height=\"" + number(height, 0) + "\"/>\n";
  svg += text_at(margin, 30, "class=\"title\"", name);
  svg += fit.empty() ? text_at(width / 2, height / 2, "text-anchor=\"middle\"", "nothing fits") : plot(fit);
  return svg + "</svg>\n";
}

}  // namespace switchyard
