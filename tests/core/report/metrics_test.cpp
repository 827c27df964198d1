#include "report/metrics.hpp"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "../store/temp_folder.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

Metrics report(std::int64_t step, double loss) {
  Metrics metrics;
  metrics.step = step;
  metrics.loss = loss;
  return metrics;
}

}  // namespace

TEST_CASE("a line holds what is there, in a fixed order") {
  Metrics metrics = report(10, 2.5);
  CHECK(metrics_line(metrics) == R"({"step": 10, "loss": 2.5})");
  metrics.grad_norm = 0.1;
  metrics.lr = 1e-5;
  metrics.tokens = 40960;
  metrics.tokens_per_s = 17100;
  metrics.seconds = 2.25;
  metrics.val_loss = 2;
  metrics.peak_bytes = {{"cpu:0", 1024}, {"cuda:\"1\"", 5000000000}};
  metrics.idle = {{"cpu:0", 0.25}};
  metrics.more = {{"accuracy", 0.75}};
  CHECK(
      metrics_line(metrics) ==
      R"({"step": 10, "loss": 2.5, "grad_norm": 0.1, "lr": 1e-05, "tokens": 40960, "tokens_per_s": 17100, )"
      R"("seconds": 2.25, "val_loss": 2, "peak_bytes": {"cpu:0": 1024, "cuda:\"1\"": 5000000000}, "idle": {"cpu:0": 0.25}, "accuracy": 0.75})");
  const Metrics back = parse_metrics(metrics_line(metrics));
  CHECK(metrics_line(back) == metrics_line(metrics));
  CHECK(back.peak_bytes == metrics.peak_bytes);
  CHECK(back.idle == metrics.idle);
  CHECK(back.tokens == 40960);
}

TEST_CASE("what is not finite is absent") {
  Metrics metrics = report(1, std::nan(""));
  metrics.grad_norm = std::numeric_limits<double>::infinity();
  CHECK(metrics_line(metrics) == R"({"step": 1})");
  CHECK(!parse_metrics(metrics_line(metrics)).loss);
}

TEST_CASE("losses are read back bit for bit, by a reader of doubles") {
  CHECK(metrics_line(report(1, 0.1f)) == R"({"step": 1, "loss": 0.10000000149011612})");
  CHECK(metrics_line(report(1, 2.41f)) == R"({"step": 1, "loss": 2.4100000858306885})");
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const auto narrow = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    const auto wide = std::bit_cast<double>(random());
    if (std::isfinite(narrow))
      REQUIRE(static_cast<float>(*parse_metrics(metrics_line(report(1, narrow))).loss) == narrow);
    if (std::isfinite(wide)) REQUIRE(*parse_metrics(metrics_line(report(1, wide))).loss == wide);
  }
}

TEST_CASE("lines that are no reports are refused with their place") {
  TempFolder folder;
  for (const char* bad :
       {"", "{", "[1]", "{\"loss\": 1}", "{\"step\": 1.5}", "{\"step\": 1, \"peak_bytes\": {\"a\": \"b\"}}"}) {
    write_file(folder / "m", "{\"step\": 1}\n" + std::string(bad) + "\n");
    CHECK(failure([&] { read_metrics(folder / "m"); }).starts_with("15 " + (folder / "m:2:1: ")));
  }
  CHECK(read_metrics(folder / "none").empty());
}

TEST_CASE("lines are appended, one at a time") {
  TempFolder folder;
  write_file(folder / "m", "older\n");
  auto file = MetricsFile::create(folder / "m");
  file.write(report(1, 3));
  CHECK(read_file(folder / "m") == "{\"step\": 1, \"loss\": 3}\n");
  auto moved = std::move(file);
  moved.write(report(2, 2));
  CHECK(read_metrics(folder / "m").size() == 2);
}

TEST_CASE("resuming drops what came after the checkpoint and a line that was cut off") {
  TempFolder folder;
  {
    auto file = MetricsFile::create(folder / "m");
    for (int step : {10, 20, 30}) file.write(report(step, step));
  }
  write_file(folder / "m", read_file(folder / "m") + "{\"step\": 40, \"lo");
  CHECK(read_metrics(folder / "m").size() == 3);
  std::vector<Metrics> kept;
  auto file = MetricsFile::resume(folder / "m", 20, &kept);
  CHECK((kept.size() == 2 && kept[1].step == 20));
  file.write(report(30, 7));
  const auto all = read_metrics(folder / "m");
  REQUIRE(all.size() == 3);
  CHECK(*all[2].loss == 7);
  MetricsFile::resume(folder / "new", 5).write(report(6, 1));
  CHECK(read_metrics(folder / "new").size() == 1);
}
