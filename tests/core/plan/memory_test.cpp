// The memory account against sums made by hand.
#include <doctest/doctest.h>

#include "planning.hpp"

using namespace planning;

namespace {

// Samples of 3 numbers; 3 -> 4 with bias, then cross-entropy. Per micro-batch of 2 samples:
//   inputs 2 x 3 x 4 = 24 bytes, targets 2 x 8 = 16, scores 2 x 4 x 4 = 32
// The loss works in 32 bytes, saves its input gradient (32) and gives 8. The linear layer keeps its input.
const std::string small = R"(
[model]
input = { shape = [3] }
[[layer]]
type = "plain_linear"
name = "a"
out = 4
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";

constexpr uint64_t inputs = 24, targets = 16, scores = 32, loss_work = 32, loss_saved = 32, loss_output = 8;

Plan plan_of(int devices, const std::vector<std::string>& more, const std::string& layers = small) {
  std::vector<std::string> sets = {"train.batch=2", "placement.policy=contiguous"};
  sets.insert(sets.end(), more.begin(), more.end());
  return make(layers + on(devices) + training, sets).plan;
}

}  // namespace

TEST_CASE("weights, gradients and states in blocks of 128 elements") {
  const Plan plan = plan_of(1, {});
  CHECK(plan.state_names.size() == 2);
  CHECK(plan.memory[0].weights == 2 * 128 * 4);
  CHECK(plan.memory[0].gradients == 2 * 128 * 4);
  CHECK(plan.memory[0].states == 2 * 2 * 128 * 4);
  CHECK(plan.memory[0].masters == 0);
}

TEST_CASE("half precision adds fp32 copies, and gradients may be bf16") {
  const Plan plan = plan_of(1, {"precision.type=bf16", "precision.gradients=bf16"});
  CHECK(plan.memory[0].weights == 2 * 128 * 2);
  CHECK(plan.memory[0].masters == 2 * 128 * 4);
  CHECK(plan.memory[0].gradients == 2 * 128 * 2);
  CHECK(plan.memory[0].states == 2 * 2 * 128 * 4);
}

TEST_CASE("what is not trained has neither gradient nor states") {
  const Plan plan = plan_of(1, {"layer.a.trainable=false"});
  CHECK(plan.memory[0].weights == 2 * 128 * 4);
  CHECK(plan.memory[0].gradients == 0);
  CHECK(plan.memory[0].states == 0);
}

TEST_CASE("activations of one device at the worst moment: inside the loss") {
  // Alive: inputs, targets, scores; on top what the loss makes.
  const uint64_t worst = inputs + targets + scores + loss_output + loss_work + loss_saved;
  const Plan plan = plan_of(1, {});
  CHECK(plan.memory[0].activations == worst);
  CHECK(plan.memory[0].edges == 0);
  CHECK(plan.memory[0].peak() == plan.memory[0].fixed() + worst);
}

TEST_CASE("gpipe keeps every micro-batch until its backward, 1f1b on one stage only one") {
  const uint64_t kept = inputs + loss_saved, worst = inputs + targets + scores + loss_output + loss_work + loss_saved;
  const std::vector<std::string> three = {"train.batch=6", "schedule.micro_batches=3"};
  auto sets = three;
  sets.push_back("schedule.type=gpipe");
  CHECK(plan_of(1, sets).memory[0].activations == 2 * kept + worst);
  sets.back() = "schedule.type=1f1b";
  CHECK(plan_of(1, sets).memory[0].activations == worst);
}

TEST_CASE("cut in two, each device has its own, and room for what travels is the receiver's") {
  const Plan plan = plan_of(2, {});
  // a: inputs and scores; backward: inputs and the gradient of the scores, as much.
  CHECK(plan.memory[0].activations == inputs + scores);
  CHECK(plan.memory[1].activations == targets + scores + loss_output + loss_work + loss_saved);
  // The scores go one way and their gradient the other.
  CHECK(plan.memory[0].edges == scores);
  CHECK(plan.memory[1].edges == scores);
  CHECK(plan.memory[1].fixed() == scores);
  for (const DeviceMemory& m : plan.memory) CHECK(m.peak() == m.fixed() + m.activations);
}

TEST_CASE("recompute keeps the inputs of layers and nothing that they save") {
  // tanh keeps its output, 2 x 4 x 4 bytes.
  const std::string layers = R"(
[model]
input = { shape = [4] }
[[layer]]
type = "plain_tanh"
name = "t"
repeat = 3
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";
  const auto gpipe = [&](const char* recompute) {
    return plan_of(1, {"schedule.type=gpipe", "train.batch=16", "schedule.micro_batches=8", recompute}, layers)
        .memory[0]
        .activations;
  };
  const uint64_t one = 2 * 4 * 4;
  // Kept per micro-batch, without: three outputs and the loss's gradient. With: three inputs (the last output is not
  // needed) and the loss's gradient. A plain chain gains nothing; it must not lose either.
  CHECK(gpipe("train.recompute=false") ==
        7 * (3 * one + loss_saved) + 3 * one + targets + loss_output + loss_work + loss_saved);
  CHECK(gpipe("train.recompute=true") ==
        7 * (3 * one + loss_saved) + 4 * one + targets + loss_output + loss_work + loss_saved);
}

TEST_CASE("a tied table on another device has a copy and a gradient of its own, no states") {
  const std::string layers = R"(
[model]
context = 4
[[layer]]
type = "plain_embedding"
name = "embed"
vocabulary = 32
width = 8
[[layer]]
type = "plain_head"
name = "head"
vocabulary = 32
tied_to = "embed.token.weight"
)";
  const Config config =
      parse_config(layers + on(2) + training, "test.toml", {"train.batch=2", "placement.policy=contiguous"});
  BatchSpec spec;
  spec.input_shape = {4};
  spec.input_dtype = dtype::i64;
  const auto model = Model::create(config, registry(), spec, 2);
  const Plan plan = make_plan(config, registry(), *model);
  const uint64_t table = 32 * 8 * 4;
  CHECK(plan.memory[0].weights == table);
  CHECK(plan.memory[0].states == 2 * table);
  CHECK(plan.memory[1].weights == table);
  CHECK(plan.memory[1].gradients == table);
  CHECK(plan.memory[1].states == 0);
  CHECK(model->weight_count() == 32 * 8);
}
