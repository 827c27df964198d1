#include "report/svg.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>

namespace switchyard {

std::vector<double> axis_ticks(double low, double high, int wanted) {
  const double rough = (high - low) / std::max(wanted, 1);
  const double power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.999) step = factor * power;
  const auto first = static_cast<std::int64_t>(std::ceil(low / step - 1e-9));
  const auto last = static_cast<std::int64_t>(std::floor(high / step + 1e-9));
  std::vector<double> ticks;
  for (std::int64_t i = first; i <= last; ++i) ticks.push_back(static_cast<double>(i) * step);
  return ticks;
}

namespace svg {

Axis axis_over(double low, double high, double margin, double from, double to) {
  const double length = high - low;
  if (length <= 0)
    margin = std::max(0.5, std::abs(low) * 0.01);
  else
    margin *= length;
  return {low - margin, high + margin, from, to};
}

std::string number(double value, int decimals) {
  char text[64];
  if (std::abs(value) < 1e7)
    std::snprintf(text, sizeof text, "%.*f", decimals, value == 0 ? 0.0 : value);  // no "-0"
  else
    std::snprintf(text, sizeof text, "%.4g", value);
  return text;
}

std::string pixel(double value) { return number(value, 1); }

std::string tick_text(double value, double step) {
  if (step >= 1000 && step / 1000 == std::floor(step / 1000)) return number(value / 1000, 0) + (value == 0 ? "" : " k");
  return number(value, std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9));
}

std::string escaped(const std::string& text) {
  std::string result;
  for (const char c : text) {
    if (c == '&')
      result += "&amp;";
    else if (c == '<')
      result += "&lt;";
    else if (c == '>')
      result += "&gt;";
    else if (c == '"')
      result += "&quot;";
    else if (static_cast<unsigned char>(c) < ' ')
      result += ' ';
    else
      result += c;
  }
  return result;
}

std::string text_at(double x, double y, const std::string& attributes, const std::string& text) {
  return "<text x=\"" + pixel(x) + "\" y=\"" + pixel(y) + "\" " + attributes + ">" + text + "</text>\n";
}

std::string line(const std::string& kind, double x1, double y1, double x2, double y2) {
  return "<line class=\"" + kind + "\" x1=\"" + pixel(x1) + "\" y1=\"" + pixel(y1) + "\" x2=\"" + pixel(x2) +
         "\" y2=\"" + pixel(y2) + "\"/>\n";
}

}  // namespace svg
}  // namespace switchyard
