#include "report/progress.hpp"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "report/columns.hpp"

namespace switchyard {
namespace {

constexpr int bar_width = 20;
constexpr const char* clear_line = "\r\x1b[K";
constexpr const char* green = "\x1b[32m";
constexpr const char* plain = "\x1b[0m";

/// "0.25", "2.41", "17.1", "812", "9812".
std::string three_digits(double value) {
  const double size = std::abs(value);
  const int decimals = size < 9.995 ? 2 : size < 99.95 ? 1 : 0;
  char text[40];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

/// Three digits, but no exponent where a loss usually lies.
std::string loss_text(double loss) {
  const double size = std::abs(loss);
  if (size >= 1 && size < 1e4) return three_digits(loss);
  char text[40];
  std::snprintf(text, sizeof text, size >= 0.01 && size < 1 ? "%.3f" : "%.3g", loss);
  return text;
}

/// The first `columns` code points.
std::string cut(const std::string& text, int columns) {
  std::size_t at = 0;
  for (; at < text.size(); ++at)
    if ((static_cast<unsigned char>(text[at]) & 0xC0) != 0x80 && columns-- == 0) break;
  return text.substr(0, at);
}

std::string bar(const Progress& progress, bool colour) {
  const double share =
      progress.steps > 0 ? static_cast<double>(progress.step) / static_cast<double>(progress.steps) : 0;
  const int full = static_cast<int>(std::clamp(share, 0.0, 1.0) * bar_width);
  std::string text = colour ? green : "";
  for (int i = 0; i < bar_width; ++i) {
    if (i == full && colour) text += plain;
    text += i < full ? "\u2588" : "\u2591";
  }
  return text + (colour ? plain : "") + "  ";
}

}  // namespace

std::string bytes_text(std::int64_t bytes) {
  static const char* const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  for (; std::abs(value) >= 999.5 && unit < 6; ++unit) value /= 1024;
  char text[40];
  std::snprintf(text, sizeof text, "%.*f %s", unit > 0 && std::abs(value) < 9.95 ? 1 : 0, value, units[unit]);
  return text;
}

std::string count_text(double count) {
  static const char* const units[] = {"", " k", " M", " G", " T", " P"};
  if (std::abs(count) < 1000 && count == std::trunc(count)) return std::to_string(static_cast<int>(count));
  int unit = 0;
  for (; std::abs(count) >= 999.5 && unit < 5; ++unit) count /= 1000;
  return three_digits(count) + units[unit];
}

std::string duration_text(double seconds) {
  const auto all = static_cast<long long>(std::llround(std::clamp(seconds, 0.0, 1e12)));
  const long long days = all / 86400, hours = all / 3600 % 24, minutes = all / 60 % 60, rest = all % 60;
  char text[64];
  if (days > 0)
    std::snprintf(text, sizeof text, "%lld d %02lld:%02lld", days, hours, minutes);
  else if (hours > 0)
    std::snprintf(text, sizeof text, "%lld:%02lld:%02lld", hours, minutes, rest);
  else
    std::snprintf(text, sizeof text, "%lld:%02lld", minutes, rest);
  return text;
}

std::string progress_line(const Progress& progress) {
  const std::string steps = std::to_string(progress.steps);
  std::string step = std::to_string(progress.step);
  if (step.size() < steps.size()) step.insert(0, steps.size() - step.size(), ' ');
  std::string line = "step " + step + "/" + steps;
  const auto add = [&](const std::string& part) { line += "   " + part; };
  if (progress.loss) add("loss " + loss_text(*progress.loss));
  if (progress.held_out) add("held out " + loss_text(*progress.held_out));
  if (progress.rate) add(count_text(*progress.rate) + " " + progress.rate_unit);
  if (progress.peak_bytes)
    add(bytes_text(*progress.peak_bytes) + (progress.device.empty() ? "" : " on " + progress.device));
  if (progress.seconds_left) add(duration_text(*progress.seconds_left) + " left");
  return line;
}

Screen Screen::of(std::FILE* stream) {
  Screen screen;
  const int fd = fileno(stream);
  const char* terminal = std::getenv("TERM");
  screen.in_place = fd >= 0 && isatty(fd) && terminal && std::strcmp(terminal, "dumb") != 0;
  const char* no_colour = std::getenv("NO_COLOR");
  screen.colour = screen.in_place && !(no_colour && *no_colour);
  winsize size{};
  if (screen.in_place && ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) screen.width = size.ws_col;
  return screen;
}

void ProgressView::draw(const Progress& progress) {
  const std::string line = progress_line(progress);
  const bool room = static_cast<int>(columns_of(line)) + bar_width + 2 < screen_.width;
  const std::string text = room ? bar(progress, screen_.colour) + line : cut(line, screen_.width - 1);
  std::fprintf(stream_, "%s%s", clear_line, text.c_str());
  std::fflush(stream_);
  open_ = true;
}

void ProgressView::report(const Progress& progress) {
  if (screen_.in_place) return draw(progress);
  std::fprintf(stream_, "%s\n", progress_line(progress).c_str());
  std::fflush(stream_);
}

void ProgressView::tick(const Progress& progress) {
  if (screen_.in_place) draw(progress);
}

void ProgressView::say(const std::string& line) {
  std::fprintf(stream_, "%s%s\n", open_ ? clear_line : "", line.c_str());
  std::fflush(stream_);
  open_ = false;
}

void ProgressView::finish() {
  if (!open_) return;
  std::fprintf(stream_, "\n");
  std::fflush(stream_);
  open_ = false;
}

}  // namespace switchyard
