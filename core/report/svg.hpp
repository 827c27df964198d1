// What the project's pictures share: axes, numbers, text and lines of an SVG. Coordinates are pixels of the view box.
#pragma once

#include <string>
#include <vector>

namespace switchyard {

/// Tick values of an axis: multiples of 1, 2 or 5 times a power of ten inside [low, high], about `wanted` of them.
std::vector<double> axis_ticks(double low, double high, int wanted);

namespace svg {

/// One axis: values [low, high] on pixels [from, to].
struct Axis {
  double low, high, from, to;
  double at(double value) const { return from + (value - low) / (high - low) * (to - from); }
};

/// Room of `margin` (a share of the length) around what is shown; never of length 0.
Axis axis_over(double low, double high, double margin, double from, double to);

std::string number(double value, int decimals);
std::string pixel(double value);
/// A tick's value with the decimals that its distance to the next one needs; thousands as "k".
std::string tick_text(double value, double step);
/// Safe inside elements and attributes; control characters become blanks.
std::string escaped(const std::string& text);
/// `attributes` and `text` are markup.
std::string text_at(double x, double y, const std::string& attributes, const std::string& text);
std::string line(const std::string& css_class, double x1, double y1, double x2, double y2);

}  // namespace svg
}  // namespace switchyard
