// A run whose steps give their results late, as on GPUs, is the run that it would have been.
#include <doctest/doctest.h>

#include "report/metrics.hpp"
#include "small_models.hpp"
#include "train/bench.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

struct Ran {
  std::unique_ptr<Session> session;
  std::vector<Report> ticks;
  std::string folder;
  std::optional<Error> failure;
};

Ran run(const Workshop& shop, bool late, std::vector<std::string> sets, const TrainOptions& given = {},
        std::int64_t stop_after = 0) {
  Ran r;
  r.folder = shop / (late ? "late" : "prompt");
  r.session = open(shop.text(), sets);
  if (late) r.session->pipe().make_results_late();
  TrainOptions options = given;
  options.out = r.folder;
  std::atomic<bool> stop{false};
  Hooks hooks;
  hooks.stop = &stop;
  hooks.tick = [&](const Report& t) {
    r.ticks.push_back(t);
    if (t.step == stop_after) stop = true;
  };
  try {
    r.session->train(options, hooks);
  } catch (const Error& e) {
    r.failure = e;
  }
  return r;
}

void check_same(const Ran& late, const Ran& prompt) {
  REQUIRE(late.ticks.size() == prompt.ticks.size());
  for (std::size_t i = 0; i < late.ticks.size(); ++i) {
    CAPTURE(i);
    CHECK(late.ticks[i].step == prompt.ticks[i].step);
    CHECK(late.ticks[i].loss == prompt.ticks[i].loss);
    CHECK(late.ticks[i].grad_norm == prompt.ticks[i].grad_norm);
    CHECK(late.ticks[i].lr == prompt.ticks[i].lr);
  }
  const auto a = read_metrics(late.folder + "/metrics.jsonl"), b = read_metrics(prompt.folder + "/metrics.jsonl");
  REQUIRE(a.size() == b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    CAPTURE(i);
    CHECK(a[i].step == b[i].step);
    CHECK(a[i].loss == b[i].loss);
    CHECK(a[i].val_loss == b[i].val_loss);
    CHECK(a[i].tokens == b[i].tokens);
  }
  CHECK(read_file(late.folder + "/checkpoint/model.safetensors") ==
        read_file(prompt.folder + "/checkpoint/model.safetensors"));
  CHECK(read_file(late.folder + "/checkpoint/optimizer.safetensors") ==
        read_file(prompt.folder + "/checkpoint/optimizer.safetensors"));
}

}  // namespace

TEST_CASE("late results: the same ticks, reports, evaluations and checkpoints") {
  for (const char* every : {"1", "2", "100"}) {
    CAPTURE(every);
    const Workshop shop;
    const std::vector<std::string> sets = {std::string("train.report_every=") + every, "train.eval_every=3",
                                           "checkpoint.every=4"};
    check_same(run(shop, true, sets), run(shop, false, sets));
  }
}

TEST_CASE("late results: a call of so many steps ends with them known, and the next one goes on") {
  const Workshop shop;
  TrainOptions options;
  options.at_most = 3;
  const Ran late = run(shop, true, {"train.report_every=100"}, options);
  CHECK(late.ticks.size() == 3);
  CHECK(late.session->step() == 3);
  CHECK_FALSE(late.session->pipe().has_begun_step());
  late.session->train(TrainOptions());
  CHECK(late.session->step() == 6);
  const Workshop other;
  run(other, false, {"train.report_every=100"});
  CHECK(read_file(shop / "late/checkpoint/model.safetensors") ==
        read_file(other / "prompt/checkpoint/model.safetensors"));
}

TEST_CASE("late results: asked to stop, the run ends with the step that has begun") {
  const Workshop shop;
  const Ran late = run(shop, true, {"train.report_every=100"}, {}, 3);
  CHECK(late.ticks.back().step == 4);
  CHECK(late.session->step() == 4);
  CHECK(open_checkpoint(late.folder).step == 4);
}

TEST_CASE("late results: numbers that are not finite end the run at the same step, with the same words") {
  for (const char* every : {"1", "100"}) {
    CAPTURE(every);
    const Workshop shop("[[layer]]\ntype = \"faulty\"\nname = \"x\"\nfault = \"nan\"\nin = \"forward\"\nstep = 3\n");
    const std::vector<std::string> sets = {std::string("train.report_every=") + every};
    const Ran late = run(shop, true, sets), prompt = run(shop, false, sets);
    REQUIRE(prompt.failure.has_value());
    REQUIRE(late.failure.has_value());
    const std::string text = late.failure->what();
    CHECK(text.substr(0, text.find("; the last")) ==
          std::string(prompt.failure->what()).substr(0, text.find("; the last")));
    CHECK(prompt.session->step() == 2);
    CHECK(late.session->step() == 2);
    CHECK(late.session->state().samples == prompt.session->state().samples);
    CHECK(late.ticks.size() == prompt.ticks.size());
    CHECK_FALSE(late.session->pipe().has_begun_step());
    CHECK(late.session->pipe().applied_steps() == prompt.session->pipe().applied_steps());
  }
}

TEST_CASE("late results: the bench times whole steps and leaves nothing begun") {
  const Workshop shop;
  const auto session = open(shop.text());
  session->pipe().make_results_late();
  BenchOptions options;
  options.warm_up = 0;
  options.steps = 5;
  const BenchResult result = bench(*session, options);
  CHECK(result.seconds.size() == 5);
  CHECK(session->step() == 2 + 5 + 1);  // two to begin with, and one that is recorded
  CHECK_FALSE(session->pipe().has_begun_step());
  for (const BenchDevice& d : result.devices) CHECK(d.measured > 0);
}
