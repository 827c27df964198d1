#include "report/progress.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <cmath>
#include <iostream>

#include "../store/temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

Progress book() {
  Progress progress;
  progress.step = 200;
  progress.steps = 2000;
  progress.loss = 2.4112;
  progress.held_out = 2.3781;
  progress.rate = 17123;
  progress.peak_bytes = 66 << 20;
  progress.device = "cpu:1";
  progress.seconds_left = 211;
  return progress;
}

const std::string book_line =
    "step  200/2000   loss 2.41   held out 2.38   17.1 k tokens/s   66 MiB on cpu:1   3:31 left";

/// What a view writes to its stream.
template <class Act>
std::string written(const Screen& screen, Act act) {
  TempFolder folder;
  std::FILE* stream = std::fopen((folder / "out").c_str(), "w");
  {
    ProgressView view(stream, screen);
    act(view);
  }
  std::fclose(stream);
  return read_file(folder / "out");
}

}  // namespace

TEST_CASE("one report is one line") {
  CHECK(progress_line(book()) == book_line);
  Progress little;
  little.step = 2000;
  little.steps = 2000;
  CHECK(progress_line(little) == "step 2000/2000");
  little.rate = 12;
  little.rate_unit = "samples/s";
  little.peak_bytes = 0;
  CHECK(progress_line(little) == "step 2000/2000   12 samples/s   0 B");
}

TEST_CASE("losses keep three digits") {
  const auto loss = [](double value) {
    Progress progress;
    progress.loss = value;
    return progress_line(progress).substr(11);
  };
  CHECK(loss(10.826) == "loss 10.8");
  CHECK(loss(1) == "loss 1.00");
  CHECK(loss(0.0123) == "loss 0.012");
  CHECK(loss(0.00123) == "loss 0.00123");
  CHECK(loss(0) == "loss 0");
  CHECK(loss(123456) == "loss 1.23e+05");
  CHECK(loss(std::nan("")) == "loss nan");
}

TEST_CASE("bytes, counts and durations") {
  CHECK(bytes_text(0) == "0 B");
  CHECK(bytes_text(999) == "999 B");
  CHECK(bytes_text(1023) == "1.0 KiB");
  CHECK(bytes_text(1536) == "1.5 KiB");
  CHECK(bytes_text((66ll << 20) + (800 << 10)) == "67 MiB");
  CHECK(bytes_text(1000ll << 20) == "1.0 GiB");
  CHECK(bytes_text((34ll << 30) / 10) == "3.4 GiB");
  CHECK(bytes_text(INT64_MAX) == "8.0 EiB");
  CHECK(count_text(0) == "0");
  CHECK(count_text(1) == "1");
  CHECK(count_text(99) == "99");
  CHECK(count_text(-99) == "-99");
  CHECK(count_text(999) == "999");
  CHECK(count_text(1000) == "1.00 k");
  CHECK(count_text(0.004) == "0.00");
  CHECK(count_text(99.06) == "99.1");
  CHECK(count_text(9.994) == "9.99");
  CHECK(count_text(9.996) == "10.0");
  CHECK(count_text(999.4) == "999");
  CHECK(count_text(999.6) == "1.00 k");
  CHECK(count_text(1.05e6) == "1.05 M");
  CHECK(duration_text(7.2) == "0:07");
  CHECK(duration_text(59.6) == "1:00");
  CHECK(duration_text(3723) == "1:02:03");
  CHECK(duration_text(2 * 86400 + 3 * 3600 + 240) == "2 d 03:04");
  CHECK(duration_text(-1) == "0:00");
}

TEST_CASE("elsewhere than on a terminal: whole lines, reports only, no control codes") {
  const std::string text = written({false, false, 80}, [](ProgressView& view) {
    view.tick(book());
    view.report(book());
    view.say("Done");
  });
  CHECK(text == book_line + "\nDone\n");
}

TEST_CASE("on a terminal one line is rewritten, with a bar where there is room") {
  const std::string text = written({true, false, 200}, [](ProgressView& view) {
    view.tick(book());
    view.say("Plan");
    view.report(book());
  });
  std::string bar = "\u2588\u2588";
  for (int i = 0; i < 18; ++i) bar += "\u2591";
  const std::string drawn = "\r\x1b[K" + bar + "  " + book_line;
  CHECK(text == drawn + "\r\x1b[KPlan\n" + drawn + "\n");
}

TEST_CASE("colour only where asked, and a narrow terminal gets a cut line") {
  const auto draw = [](bool colour, int width) {
    return written({true, colour, width}, [](ProgressView& view) { view.tick(book()); });
  };
  CHECK(contains(draw(true, 200), "\x1b[32m"));
  CHECK(!contains(draw(false, 200), "\x1b[32m"));
  CHECK(draw(true, 20) == "\r\x1b[K" + book_line.substr(0, 19) + "\n");
}

TEST_CASE("a file is no screen, and NO_COLOR is honoured") {
  TempFolder folder;
  std::FILE* stream = std::fopen((folder / "out").c_str(), "w");
  const Screen screen = Screen::of(stream);
  CHECK((!screen.in_place && !screen.colour));
  std::fclose(stream);

  std::FILE* terminal = nullptr;  // a pseudo terminal, where the system gives one
  const int master = posix_openpt(02);
  if (master < 0 || grantpt(master) != 0 || unlockpt(master) != 0 || !(terminal = std::fopen(ptsname(master), "w"))) {
    std::cout << "[skipped] no pseudo terminal\n";
    return;
  }
  setenv("TERM", "xterm", 1);
  unsetenv("NO_COLOR");
  CHECK((Screen::of(terminal).in_place && Screen::of(terminal).colour));
  setenv("NO_COLOR", "1", 1);
  CHECK((Screen::of(terminal).in_place && !Screen::of(terminal).colour));
  setenv("TERM", "dumb", 1);
  CHECK(!Screen::of(terminal).in_place);
  std::fclose(terminal);
}
