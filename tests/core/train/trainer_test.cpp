#include "train/trainer.hpp"

#include <doctest/doctest.h>

#include <filesystem>

#include "report/metrics.hpp"
#include "small_models.hpp"

using namespace switchyard;
using namespace switchyard::test;

namespace {

std::vector<std::int64_t> steps_of(const std::string& run) {
  std::vector<std::int64_t> steps;
  for (const Metrics& m : read_metrics(run + "/metrics.jsonl")) steps.push_back(m.step);
  return steps;
}

std::vector<double> losses_of(const std::string& run) {
  std::vector<double> losses;
  for (const Metrics& m : read_metrics(run + "/metrics.jsonl")) losses.push_back(*m.loss);
  return losses;
}

std::int64_t checkpoint_step(const std::string& run) { return open_checkpoint(run).step; }

}  // namespace

TEST_CASE("a run leaves the files of the contract") {
  const Workshop shop;
  std::vector<Report> reports;
  Hooks hooks;
  hooks.report = [&](const Report& r) { reports.push_back(r); };
  const TrainResult result = train(shop.text(), shop / "run", {}, hooks);
  for (const char* name : {"config.toml", "plan.json", "metrics.jsonl", "loss.svg", "sample.txt",
                           "checkpoint/model.safetensors", "checkpoint/optimizer.safetensors"})
    CHECK(std::filesystem::exists(shop / "run/" + name));
  CHECK(result.step == 6);
  CHECK(!result.stopped);
  CHECK(result.val_loss);
  CHECK(result.sample_before != result.sample_after);
  CHECK(contains(read_file(shop / "run/sample.txt"), "After 6 steps\nThe " + result.sample_after));
  REQUIRE(result.peaks.size() == 2);
  for (const DevicePeak& peak : result.peaks) CHECK(peak.measured > 0);
  CHECK(reports.size() == 6);
  CHECK(reports.back().val_loss == result.val_loss);
  CHECK(reports.back().seconds_left == 0);
}

TEST_CASE("metrics hold what the contract lists, and losses are read back bit for bit") {
  const Workshop shop;
  std::vector<Report> reports;
  Hooks hooks;
  hooks.report = [&](const Report& r) { reports.push_back(r); };
  train(shop.text(), shop / "run", {"train.eval_every=4"}, hooks);
  const auto metrics = read_metrics(shop / "run/metrics.jsonl");
  REQUIRE(metrics.size() == reports.size());
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    CHECK(metrics[i].step == static_cast<std::int64_t>(i) + 1);
    CHECK(metrics[i].loss == reports[i].loss);
    CHECK(metrics[i].grad_norm == reports[i].grad_norm);
    CHECK(metrics[i].tokens == (static_cast<std::int64_t>(i) + 1) * 32);
    CHECK(*metrics[i].tokens_per_s > 0);
    CHECK(*metrics[i].seconds > 0);
    CHECK(metrics[i].val_loss.has_value() == (i == 3 || i == 5));
    CHECK(metrics[i].peak_bytes.size() == 2);
  }
  CHECK(metrics[0].lr == 5e-3);  // half-way up
  CHECK(*metrics[5].lr == doctest::Approx(1e-3));
}

TEST_CASE("reports come at report_every and at the end") {
  const Workshop shop;
  train(shop.table(), shop / "run");
  CHECK(steps_of(shop / "run") == std::vector<std::int64_t>{2, 4, 5});
  CHECK(read_metrics(shop / "run/metrics.jsonl").back().tokens == 20);  // samples
  CHECK(!std::filesystem::exists(shop / "run/sample.txt"));
}

TEST_CASE("resuming equals never having stopped, bit for bit, under another plan too") {
  for (const bool text : {true, false}) {
    const Workshop shop;
    const std::string config = text ? shop.text() : shop.table();
    const std::vector<std::string> every = {"train.report_every=1"};
    train(config, shop / "whole", every);
    train(config, shop / "parts", {"train.report_every=1", "train.steps=6", "train.lr_schedule.type=constant"});
    for (const bool other : {false, true}) {
      CAPTURE(text);
      CAPTURE(other);
      const std::string run = shop / (other ? "other" : "same");
      TrainOptions options;
      options.out = run;
      options.at_most = 3;
      CHECK(open(config, every)->train(options).stopped);
      CHECK(checkpoint_step(run) == 3);
      std::vector<std::string> sets = other ? other_plan : std::vector<std::string>();
      sets.push_back("train.report_every=1");
      const TrainResult result = resume(config, run, sets);
      CHECK(result.step == (text ? 6 : 5));
      CHECK(model_file(run) == model_file(shop / "whole"));
      CHECK(optimizer_file(run) == optimizer_file(shop / "whole"));
      CHECK(losses_of(run) == losses_of(shop / "whole"));
    }
  }
}

TEST_CASE("every plan trains the same weights") {
  const Workshop shop;
  train(shop.text(), shop / "a");
  train(shop.text(), shop / "b", other_plan);
  train(shop.text(), shop / "c", {"devices.use=[\"cpu:0\"]"});
  CHECK(model_file(shop / "a") == model_file(shop / "b"));
  CHECK(model_file(shop / "a") == model_file(shop / "c"));
  CHECK(losses_of(shop / "a") == losses_of(shop / "b"));
  CHECK(model_file(shop / "a") != (train(shop.text(), shop / "d", {"seed=1"}), model_file(shop / "d")));
}

TEST_CASE("a resume drops the reports after the checkpoint") {
  const Workshop shop;
  TrainOptions options;
  options.out = shop / "run";
  options.at_most = 4;
  open(shop.text())->train(options);
  write_file(shop / "run/metrics.jsonl", read_file(shop / "run/metrics.jsonl") + "{\"step\": 5, \"loss\": 1}\n{\"st");
  resume(shop.text(), shop / "run");
  CHECK(steps_of(shop / "run") == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(losses_of(shop / "run")[4] != 1);
}

TEST_CASE("a resume may go into a folder of its own and leaves the first one alone") {
  const Workshop shop;
  train(shop.text(), shop / "first", {"train.steps=3"});
  const std::string before = model_file(shop / "first");
  TrainOptions options;
  options.resume = shop / "first";
  options.out = shop / "second";
  open(shop.text())->train(options);
  CHECK(model_file(shop / "first") == before);
  CHECK(steps_of(shop / "second") == std::vector<std::int64_t>{1, 2, 3, 4, 5, 6});
  CHECK(checkpoint_step(shop / "second") == 6);
}

TEST_CASE("a resume takes the checkpoint's weights, also where [model] weights are gone") {
  const Workshop shop;
  train(shop.text(), shop / "whole");
  train(shop.text(), shop / "first", {"train.steps=0"});
  TrainOptions options;
  options.out = shop / "run";
  options.at_most = 2;
  open(shop.text(), {"model.weights={file='" + (shop / "first/checkpoint/model.safetensors") + "'}"})->train(options);
  resume(shop.text(), shop / "run", {"model.weights={file='/nowhere/w.safetensors'}"});
  CHECK(model_file(shop / "run") == model_file(shop / "whole"));
}

TEST_CASE("a request to stop ends after the step, with a checkpoint") {
  const Workshop shop;
  std::atomic<bool> stop{false};
  Hooks hooks;
  hooks.stop = &stop;
  hooks.tick = [&](const Report& r) { stop = r.step == 3; };
  const TrainResult result = train(shop.text(), shop / "run", {}, hooks);
  CHECK(result.stopped);
  CHECK(checkpoint_step(shop / "run") == result.step);
  CHECK(result.step == 3);
  CHECK(!result.val_loss);
}

TEST_CASE("no steps write the first weights, which depend on the seed alone") {
  const Workshop shop;
  CHECK(train(shop.text(), shop / "a", {"train.steps=0"}).step == 0);
  train(shop.text(), shop / "b", {"train.steps=0", "devices.use=[\"cpu:0\"]"});
  CHECK(model_file(shop / "a") == model_file(shop / "b"));
  CHECK(checkpoint_step(shop / "a") == 0);
}

TEST_CASE("checkpoints come every so many steps, and the newest few are kept") {
  const Workshop shop;
  std::vector<std::string> lines;
  Hooks hooks;
  hooks.event = [&](const std::string& line) { lines.push_back(line); };
  train(shop.text(), shop / "run", {"checkpoint.every=2", "checkpoint.keep=2"}, hooks);
  CHECK(std::filesystem::exists(shop / "run/checkpoints/step-000004"));
  CHECK(std::filesystem::exists(shop / "run/checkpoints/step-000006"));
  CHECK(!std::filesystem::exists(shop / "run/checkpoints/step-000002"));
  CHECK(std::count_if(lines.begin(), lines.end(), [](auto& l) { return contains(l, "checkpoint of step"); }) == 3);
}

TEST_CASE("a gradient that is not finite ends a run in fp32; the last checkpoint stays") {
  const Workshop shop("[[layer]]\ntype='faulty'\nfault='inf_gradient'\nin='backward'\nstep=4\nname='bad'\n");
  const std::string text = failure([&] { train(shop.text(), shop / "run", {"checkpoint.every=2"}); });
  CHECK(contains(text, "15 step 4"));
  CHECK(contains(text, "'bad.weight'"));
  CHECK(contains(text, "lower train.optimizer.lr"));
  CHECK(contains(text, shop / "run/checkpoints/step-000002"));
  CHECK(checkpoint_step(shop / "run") == 2);
  CHECK(steps_of(shop / "run") == std::vector<std::int64_t>{1, 2, 3});
}

TEST_CASE("fp16 skips such a step on all stages and halves the scale") {
  const Workshop shop("[[layer]]\ntype='faulty'\nfault='inf_gradient'\nin='backward'\nstep=2\nname='bad'\n");
  train(shop.text(), shop / "one", {"train.steps=1", "precision.type=fp16", "train.report_every=1"});
  train(shop.text(), shop / "two", {"train.steps=2", "precision.type=fp16", "train.report_every=1"});
  CHECK(model_file(shop / "one") == model_file(shop / "two"));
  const auto metrics = read_metrics(shop / "two/metrics.jsonl");
  const Checkpoint one = open_checkpoint(shop / "one"), two = open_checkpoint(shop / "two");
  CHECK(one.state().at("applied_steps") == two.state().at("applied_steps"));
  CHECK(std::stod(one.state().at("loss_scale")) == 2 * std::stod(two.state().at("loss_scale")));
  CHECK(metrics[1].more.back() == std::pair<std::string, double>("skipped", 1));
}

TEST_CASE("when no loss scale is small enough, the run ends and says what to change") {
  const Workshop shop("[[layer]]\ntype='faulty'\nfault='inf_gradient'\nin='backward'\nname='bad'\n");
  const std::string text = failure([&] {
    train(shop.table(), shop / "run", {"train.steps=100", "precision.type=fp16"});
  });
  CHECK(contains(text, "15 step 60: the gradients of 60 steps in a row were not finite"));
  CHECK(contains(text, "precision.type = \"bf16\""));
}

TEST_CASE("resuming in fp16 equals never having stopped, loss scale and skipped steps included") {
  const Workshop shop("[[layer]]\ntype='faulty'\nfault='inf_gradient'\nin='backward'\nstep=2\nname='bad'\n");
  const std::vector<std::string> half = {"precision.type=fp16", "train.report_every=1"};
  train(shop.text(), shop / "whole", half);
  TrainOptions options;
  options.out = shop / "run";
  options.at_most = 3;
  open(shop.text(), half)->train(options);
  std::vector<std::string> sets = other_plan;
  sets.insert(sets.end(), half.begin(), half.end());
  resume(shop.text(), shop / "run", sets);
  CHECK(model_file(shop / "run") == model_file(shop / "whole"));
  CHECK(optimizer_file(shop / "run") == optimizer_file(shop / "whole"));
  CHECK(losses_of(shop / "run") == losses_of(shop / "whole"));
}

TEST_CASE("training in parts with text in between equals training at once") {
  const Workshop shop;
  train(shop.text(), shop / "whole");
  auto session = open(shop.text());
  TrainOptions options;
  options.out = shop / "parts";
  options.at_most = 2;
  CHECK(session->train(options).stopped);
  session->generate(GenerateRequest::from(session->config()));
  session->evaluate();
  CHECK(session->train({}).step == 6);
  CHECK(model_file(shop / "parts") == model_file(shop / "whole"));
  CHECK(losses_of(shop / "parts") == losses_of(shop / "whole"));
}

TEST_CASE("without files nothing is written") {
  const Workshop shop;
  auto session = open(shop.text());
  TrainOptions options;
  options.files = false;
  options.at_most = 2;
  CHECK(session->train(options).folder.empty());
  CHECK(session->step() == 2);
  const auto count = std::distance(std::filesystem::directory_iterator(shop.folder.path()), {});
  CHECK(count == 4);
}

TEST_CASE("steps on batches of the caller equal the loop") {
  const Workshop shop;
  train(shop.text(), shop / "loop");
  auto session = open(shop.text());
  for (int step = 1; step <= 6; ++step) session->train_step(session->batch(step));
  session->save(shop / "own");
  CHECK(model_file(shop / "own") == model_file(shop / "loop"));
  CHECK(optimizer_file(shop / "own") == optimizer_file(shop / "loop"));
}

TEST_CASE("a second run into a folder that a run is writing into is refused, and disturbs nothing") {
  const Workshop shop;
  const std::vector<std::string> sets = {"train.report_every=1", "checkpoint.every=2"};
  std::string begun, resumed;
  Hooks hooks;
  hooks.report = [&](const Report& r) {
    if (r.step == 1) begun = failure([&] { train(shop.text(), shop / "run", sets); });
    if (r.step == 3) resumed = failure([&] { resume(shop.text(), shop / "run", sets); });
  };
  train(shop.text(), shop / "run", sets, hooks);
  for (const std::string& refusal : {begun, resumed})
    CHECK_MESSAGE(contains(refusal, "is writing into '" + (shop / "run") + "' now"), refusal);
  train(shop.text(), shop / "alone", sets);
  CHECK(losses_of(shop / "run") == losses_of(shop / "alone"));
  CHECK(model_file(shop / "run") == model_file(shop / "alone"));
  CHECK(resume(shop.text(), shop / "run", {"train.steps=8"}).step == 8);  // the folder is free again
}

TEST_CASE("what cannot be trained is refused before any weight is placed") {
  const Workshop shop;
  const auto refused = [&](const std::vector<std::string>& sets) { return failure([&] { open(shop.table(), sets); }); };
  CHECK(contains(refused({"train.batch=1000", "schedule.micro_batches=2"}), "need >= 1000 (train.batch)"));
  write_file(shop / "no_train.toml", text_layers());
  CHECK(contains(failure([&] { open(shop / "no_train.toml"); }), "[train] is missing"));
  train(shop.text(), shop / "run", {"train.steps=1"});
  CHECK(contains(failure([&] { train(shop.text(), shop / "run"); }), "--resume"));
  CHECK(contains(failure([&] { resume(shop.text(), shop / "nothing"); }), "is not the folder of a run"));
}

TEST_CASE("a last batch that leaves a batch norm one sample is refused, unless it is dropped") {
  const Workshop shop;
  const auto run = [&](const std::string& drop) {
    return failure([&] {
      open(shop.table(), {"train.batch=5", "schedule.micro_batches=2", "data.drop_last=" + drop})->check();
    });
  };
  CHECK(contains(run("false"), "layer 1 'bn' (plain_batchnorm): step 4 has a micro-batch of 1 sample"));
  CHECK(run("true") == "");
}
