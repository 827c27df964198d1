// A GPT on GPUs: follows the CPU, also when half of it lies there, and gives the same bits in every run.
#include "../parity/models.hpp"
#include "gpu.hpp"

namespace {

using namespace plain;

const std::string gpt = R"(
[model]
context = 32
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 65
width = 64
positions = "learned"
[[layer]]
type = "gpt_block"
name = "h"
repeat = 4
heads = 4
[[layer]]
type = "lm_head"
name = "head"
tied_to = "embed.token.weight"
)";

const std::string twenty_steps = R"(
[devices]
use = ["cpu:0"]
[placement]
policy = "contiguous"
[schedule]
type = "1f1b"
micro_batches = 4
[train]
batch = 8
steps = 20
clip_norm = 1.0
deterministic = true
optimizer = { type = "adamw", lr = 1e-3, weight_decay = 0.1 }
)";

std::unique_ptr<Pipe> gpt_on(const std::string& devices, std::vector<std::string> more = {}) {
  std::vector<std::string> sets = gpu::on(devices);
  sets.insert(sets.end(), more.begin(), more.end());
  return build(gpt + twenty_steps, sets);
}

std::vector<double> losses(Pipe& pipe, int steps) {
  std::vector<double> all;
  for (int step = 1; step <= steps; ++step)
    all.push_back(pipe.step(batch_for(pipe.model(), pipe.plan().batch, step), static_cast<uint64_t>(step), 1e-3).loss);
  return all;
}

void check_losses(const std::vector<double>& expected, const std::vector<double>& got) {
  double most = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    most = std::max(most, std::fabs(got[i] - expected[i]) / std::fabs(expected[i]));
  std::printf("20 steps: loss %.6f -> %.6f, CPU %.6f, largest relative difference %.2e\n", got.front(), got.back(),
              expected.back(), most);
  CHECK(most <= 1e-4);
}

const std::vector<double>& cpu_losses() {
  static const std::vector<double> all = losses(*gpt_on("\"cpu:0\""), 20);
  return all;
}

}  // namespace

TEST_CASE("20 steps of a GPT on cuda:0 follow the CPU") {
  if (gpu::skipped()) return;
  check_losses(cpu_losses(), losses(*gpt_on("\"cuda:0\""), 20));
}
TEST_CASE("a pipeline of a GPU and the CPU, in both orders, with a tied weight over the border") {
  if (gpu::skipped()) return;
  for (const char* devices : {"\"cuda:0\", \"cpu:0\"", "\"cpu:0\", \"cuda:0\""})
    for (const auto& [schedule, micro_batches] : {std::pair("1f1b", "4"), std::pair("gpipe", "8")}) {
      CAPTURE(std::string(devices));
      auto pipe = gpt_on(devices, {"schedule.type=" + std::string(schedule), "placement.policy=round_robin",
                                   "schedule.micro_batches=" + std::string(micro_batches)});
      check_losses(cpu_losses(), losses(*pipe, 20));
    }
}
TEST_CASE("bf16 and fp16 with fp32 master copies follow fp32") {
  if (gpu::skipped()) return;
  for (const char* type : {"bf16", "fp16"}) {
    CAPTURE(std::string(type));
    const std::vector<double> got = losses(*gpt_on("\"cuda:0\"", {"precision.type=" + std::string(type)}), 20);
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - cpu_losses()[i]) <= 1e-2 * cpu_losses()[i]);
  }
}
TEST_CASE("recompute changes nothing") {
  if (gpu::skipped()) return;
  const Trace kept = train(*gpt_on("\"cuda:0\""), 3);
  CHECK(train(*gpt_on("\"cuda:0\"", {"train.recompute=true"}), 3) == kept);
}
TEST_CASE("two runs give the same bits, whatever the schedule") {
  if (gpu::skipped()) return;
  const Trace first = train(*gpt_on("\"cuda:0\""), 5);
  CHECK(train(*gpt_on("\"cuda:0\""), 5) == first);
  CHECK(train(*gpt_on("\"cuda:0\"", {"schedule.type=gpipe"}), 5) == first);
}
TEST_CASE("parts of a GPU share its memory") {
  if (gpu::skipped()) return;
  const auto budget = [](Pipe& pipe) { return static_cast<double>(pipe.plan().devices[0].budget); };
  const double whole = budget(*gpt_on("\"cuda:0\"")), part = budget(*gpt_on("\"cuda:0/{0..3}\""));
  CHECK(part == doctest::Approx(whole / 4).epsilon(0.02));
}
TEST_CASE("devices.p2p: through the host or not, the bits are the same, and the backend reads the word") {
  if (gpu::skipped()) return;
  const Trace direct = train(*gpt_on("\"cuda:0/0\", \"cuda:0/1\"", {"devices.p2p=force"}), 3);
  CHECK(train(*gpt_on("\"cuda:0/0\", \"cuda:0/1\"", {"devices.p2p=off"}), 3) == direct);
  if (gpu::fewer_than(2)) return;
  for (const char* p2p : {"off", "auto"})
    CHECK(train(*gpt_on("\"cuda:0\", \"cuda:1\"", {std::string("devices.p2p=") + p2p}), 3) == direct);
}
TEST_CASE("two pipes share the GPU, step by step") {
  if (gpu::skipped()) return;
  auto a = gpt_on("\"cuda:0\""), b = gpt_on("\"cuda:0\", \"cpu:0\"");
  for (int step = 1; step <= 5; ++step)
    for (Pipe* pipe : {a.get(), b.get()}) {
      const StepResult r = pipe->step(batch_for(pipe->model(), 8, step), static_cast<uint64_t>(step), 1e-3);
      CHECK(std::fabs(r.loss - cpu_losses()[static_cast<std::size_t>(step - 1)]) <= 1e-4 * r.loss);
    }
}
TEST_CASE("out of memory names the layer, and the pipe goes on") {
  if (gpu::skipped()) return;
  auto pipe = build(
      "[model]\ninput = { shape = [1], type = \"fp32\" }\n[[layer]]\ntype = \"linear\"\nname = \"wide\"\n"
      "out = 1000000\n[[layer]]\ntype = \"linear\"\nname = \"last\"\nout = 2\n[[layer]]\n"
      "type = \"cross_entropy\"\nname = \"loss\"\n" +
          twenty_steps,
      {"devices.use=[\"cuda:0\"]", "devices.memory=[\"100 TB\"]", "schedule.micro_batches=1", "train.batch=200000"});
  const Batch small = batch_for(pipe->model(), 8, 1), large = batch_for(pipe->model(), 200000, 1);
  const double before = pipe->evaluate(small).loss;
  std::string text;
  sy_rc code = SY_OK;
  try {
    pipe->gradients(large, 1);
  } catch (const Error& e) {
    text = e.what(), code = e.code();
  }
  std::printf("%.600s\n", text.c_str());
  CHECK(code == SY_E_NO_MEMORY);
  CHECK(text.find("layer 0 'wide' (linear), stage 0 on cuda:0, micro-batch 0: ") == 0);
  CHECK(pipe->evaluate(small).loss == before);
}
TEST_CASE("evaluation and predictions on the GPU equal the CPU's") {
  if (gpu::skipped()) return;
  auto on_cpu = gpt_on("\"cpu:0\""), on_gpu = gpt_on("\"cuda:0\"");
  const Batch batch = batch_for(on_cpu->model(), 6, 1);
  const double expected = on_cpu->evaluate(batch).loss;
  CHECK(std::fabs(on_gpu->evaluate(batch).loss - expected) <= 1e-4 * expected);
  const HostTensor a = on_cpu->forward(batch.inputs, true), b = on_gpu->forward(batch.inputs, true);
  const std::vector<float> x(a.values<float>().begin(), a.values<float>().end());
  const std::vector<float> y(b.values<float>().begin(), b.values<float>().end());
  CHECK(gpu::difference(x, y) <= 1e-3);
}

namespace {

/// Twelve steps, each begun before the result of the one before is asked for.
Trace train_late(Pipe& pipe) {
  Trace t;
  const auto note = [&](const std::optional<StepResult>& r, uint64_t step) {
    REQUIRE(r.has_value());
    CHECK(r->step == step);
    t.losses.push_back(r->loss);
    t.norms.push_back(r->grad_norm);
  };
  REQUIRE(pipe.results_are_late());
  for (uint64_t step = 1; step <= 12; ++step) {
    Batch batch = batch_for(pipe.model(), pipe.plan().batch, static_cast<int>(step));
    const auto before = pipe.begin_step(batch, step, 1e-3);
    std::ranges::fill(batch.inputs.bytes(), std::byte{0});  // the caller's again
    if (step == 1) CHECK_FALSE(before.has_value());
    if (step > 1) note(before, step - 1);
  }
  note(pipe.finish_step(), 12);
  return t;
}

/// The same, waiting for each.
Trace train_prompt(Pipe& pipe) {
  Trace t;
  for (int step = 1; step <= 12; ++step) {
    const StepResult r = pipe.step(batch_for(pipe.model(), pipe.plan().batch, step), static_cast<uint64_t>(step), 1e-3);
    t.losses.push_back(r.loss);
    t.norms.push_back(r.grad_norm);
  }
  return t;
}

std::vector<std::vector<std::byte>> weights(Pipe& pipe) {
  std::vector<std::vector<std::byte>> all;
  for (const Parameter& p : pipe.model().parameters()) {
    all.emplace_back(static_cast<std::size_t>(p.count()) * pipe.stored_dtype({p.index, -1}).bits / 8);
    pipe.read({p.index, -1}, all.back());
  }
  return all;
}

void late_equals_prompt(const std::string& devices, const std::vector<std::string>& sets) {
  CAPTURE(devices);
  auto late = gpt_on(devices, sets), prompt = gpt_on(devices, sets);
  const Trace a = train_late(*late), b = train_prompt(*prompt);
  CHECK(a.losses == b.losses);
  CHECK(a.norms == b.norms);
  CHECK(late->applied_steps() == 12);
  CHECK(weights(*late) == weights(*prompt));
}

}  // namespace

TEST_CASE("results that come a step late change nothing: one GPU, one posing as four, two") {
  if (gpu::skipped()) return;
  const std::vector<std::string> spread = {"placement.policy=round_robin"};
  late_equals_prompt("\"cuda:0\"", {});
  late_equals_prompt("\"cuda:0/{0..3}\"", spread);
  late_equals_prompt("\"cuda:0/{0..3}\"", {"placement.policy=round_robin", "precision.type=bf16"});
  if (gpu::fewer_than(2)) return;
  late_equals_prompt("\"cuda:0\", \"cuda:1\"", spread);
  late_equals_prompt("\"cuda:0\", \"cuda:1\"", {"schedule.type=gpipe", "schedule.micro_batches=8"});
}
TEST_CASE("a step that is not finite is named a step late, and no weight has changed") {
  if (gpu::skipped()) return;
  for (const char* devices : {"\"cuda:0\"", "\"cuda:0/0\", \"cuda:0/1\""}) {
    CAPTURE(std::string(devices));
    auto pipe =
        gpt_on(devices, {"train.optimizer.type=sgd", "train.optimizer.weight_decay=0.0", "train.clip_norm=0.0"});
    const auto begin = [&](uint64_t step, double lr) {
      return pipe->begin_step(batch_for(pipe->model(), 8, static_cast<int>(step)), step, lr);
    };
    begin(1, 1e30);  // after this one nothing is finite any more
    REQUIRE(pipe->finish_step().has_value());
    const auto before = weights(*pipe);
    CHECK_FALSE(begin(2, 1e-3).has_value());
    std::string text;
    sy_rc code = SY_OK;
    try {
      begin(3, 1e-3);
    } catch (const Error& e) {
      text = e.what(), code = e.code();
    }
    std::printf("%.300s\n", text.c_str());
    CHECK(code == SY_E_DATA);
    CHECK(text.find("layer") != text.npos);
    CHECK_FALSE(pipe->has_begun_step());
    CHECK(pipe->applied_steps() == 1);
    CHECK(weights(*pipe) == before);
  }
}

TEST_CASE("every step tells how long each device was busy") {
  if (gpu::skipped()) return;
  for (const char* devices : {"\"cuda:0\"", "\"cuda:0/0\", \"cuda:0/1\"", "\"cuda:0\", \"cpu:0\""}) {
    CAPTURE(std::string(devices));
    auto pipe = gpt_on(devices);
    for (int step = 1; step <= 4; ++step) {
      const StepResult r = pipe->step(batch_for(pipe->model(), 8, step), static_cast<uint64_t>(step), 1e-3);
      CAPTURE(step);
      CHECK(r.passes_s > 0);
      CHECK(r.passes_s < 60);
      REQUIRE(r.busy.size() == pipe->plan().devices.size());
      for (const std::optional<double>& busy : r.busy) {
        REQUIRE(busy.has_value());
        CHECK(*busy > 0);
        CHECK(*busy <= r.passes_s * 1.001);
      }
      if (step == 4) std::printf("%s: busy %.3f of %.3f ms\n", devices, 1e3 * *r.busy[0], 1e3 * r.passes_s);
    }
  }
}
