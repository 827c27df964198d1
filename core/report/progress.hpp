// What a person sees while training runs.
#pragma once

#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>

namespace switchyard {

/// One report for the screen; what is absent is left out.
struct Progress {
  std::int64_t step = 0;
  std::int64_t steps = 0;
  std::optional<double> loss;
  std::optional<double> held_out;
  std::optional<double> rate;  // per second
  std::string rate_unit = "tokens/s";
  std::optional<std::int64_t> peak_bytes;  // of the fullest device
  std::string device;
  std::optional<double> seconds_left;
};

/// "step  200/2000   loss 2.41   held out 2.38   17.1 k tokens/s   66 MiB on cpu:1   3:31 left"
std::string progress_line(const Progress& progress);
/// "512 B", "66 MiB", "3.4 GiB": three digits at most, powers of 1024.
std::string bytes_text(std::int64_t bytes);
/// "17.1 k", "1.05 M": three digits, powers of 1000; a whole number below 1,000 as it is, "99".
std::string count_text(double count);
/// "0:07", "3:31", "1:02:03" (hours), "2 d 03:04" (days).
std::string duration_text(double seconds);

/// How a stream shows progress.
struct Screen {
  bool in_place = false;  // a terminal that can rewrite its last line
  bool colour = false;
  int width = 80;  // columns of the terminal
  /// in_place where `stream` is a terminal and TERM is not "dumb"; colour as in_place, unless NO_COLOR is set.
  static Screen of(std::FILE* stream);
};

/// Writes progress to one stream (lent): on a terminal one line that is rewritten, with a bar; elsewhere plain lines
/// without control codes. One thread at a time.
class ProgressView {
 public:
  ProgressView(std::FILE* stream, const Screen& screen) : stream_(stream), screen_(screen) {}
  ProgressView(const ProgressView&) = delete;
  ProgressView& operator=(const ProgressView&) = delete;
  /// Ends an open line.
  ~ProgressView() { finish(); }

  /// A report: kept on the screen as a line where nothing is rewritten.
  void report(const Progress& progress);
  /// Between reports: moves the bar on a terminal, writes nothing elsewhere.
  void tick(const Progress& progress);
  /// Any other line; it appears above the bar.
  void say(const std::string& line);
  /// Ends the bar's line, so that something else can be printed.
  void finish();

 private:
  void draw(const Progress& progress);
  std::FILE* stream_;
  Screen screen_;
  bool open_ = false;
};

}  // namespace switchyard
