// Placement, schedule and recompute never change a bit.

#include <doctest/doctest.h>

#include <set>

#include "plain_model.hpp"

namespace {

using namespace plain;

std::size_t devices_used(const Plan& plan) {
  std::set<int> used;
  for (const Stage& s : plan.stages) used.insert(s.device);
  return used.size();
}

/// Is any backward done in two parts?
bool has_split(const Plan& plan) {
  for (const auto& program : plan.train)
    for (const Action& a : program)
      if (a.kind == SY_ACT_I) return true;
  return false;
}

std::string use(int devices) {
  std::string list;
  for (int d = 0; d < devices; ++d) list += (d ? ", " : "") + std::string("\"cpu:") + std::to_string(d) + "\"";
  return "devices.use=[" + list + "]";
}

struct Case {
  int devices;
  std::string policy, schedule, recompute;
};

void compare(const std::string& model, const Case& c, const Trace& one, int layers) {
  CAPTURE(c.devices);
  CAPTURE(c.policy);
  CAPTURE(c.schedule);
  CAPTURE(c.recompute);
  std::vector<std::string> sets = {use(c.devices), "placement.policy=" + c.policy, "schedule.type=" + c.schedule,
                                   "train.recompute=" + c.recompute};
  if (c.policy == "explicit") {
    // Back and forth over the devices in runs of two layers.
    const Config names = parse_config(model + training, "test.toml", {});
    for (const LayerEntry& l : names.layers)
      sets.push_back("placement.explicit.\"" + l.name + "\"=cpu:" + std::to_string(l.index / 2 % c.devices));
  }
  auto pipe = build(model + training, sets);
  const std::size_t used = devices_used(pipe->plan());
  if (c.policy == "explicit")
    CHECK(used == static_cast<std::size_t>(std::min(c.devices, (layers + 1) / 2)));
  else if (c.policy == "memory_balanced")
    CHECK(used >= static_cast<std::size_t>(std::min(c.devices, 5)));  // leaves some out where that is better
  else
    CHECK(used == static_cast<std::size_t>(c.devices));
  CHECK(train(*pipe, 3) == one);
}

void matrix(const std::string& model, int layers) {
  auto alone = build(model + training, {use(1)}, true);
  const Trace one = train(*alone, 3);
  CHECK(one.losses[0] != one.losses[2]);
  for (const int devices : {1, 2, 3, 8})
    for (const char* policy : {"contiguous", "round_robin", "memory_balanced", "explicit"})
      for (const char* schedule : {"gpipe", "1f1b"})
        for (const char* recompute : {"false", "true"})
          compare(model, {devices, policy, schedule, recompute}, one, layers);
}

/// Schedules for several stages on each device and for a backward in two parts, over maps of each kind. Stages hold
/// layers that split (plain_linear), layers that do not, or both.
void matrix_of_chunks(const std::string& model) {
  auto alone = build(model + training, {use(1)}, true);
  const Trace one = train(*alone, 3);
  for (const int devices : {2, 3})
    for (const char* schedule : {"interleaved", "zb_h1", "zbv"})
      for (const char* recompute : {"false", "true"})
        for (const char* map :
             {"policy=round_robin", "contiguous={}", "contiguous={chunks=2}", "contiguous={chunks=2,order=\"v\"}"}) {
          CAPTURE(devices);
          CAPTURE(std::string(schedule));
          CAPTURE(std::string(recompute));
          CAPTURE(std::string(map));
          auto pipe = build(model + training,
                            {use(devices), std::string("placement.") + map, std::string("schedule.type=") + schedule,
                             std::string("train.recompute=") + recompute});
          CHECK(devices_used(pipe->plan()) == static_cast<std::size_t>(devices));
          CHECK(has_split(pipe->plan()) == (std::string(schedule) != "interleaved"));
          CHECK(train(*pipe, 3) == one);
        }
}

}  // namespace

TEST_CASE("a token model with dropout and a tied head equals one device bit for bit") { matrix(token_layers, 10); }
TEST_CASE("skips over stages, two uses of an output and a batch norm equal one device bit for bit") {
  matrix(table_layers, 9);
}

TEST_CASE("interleaved, zb_h1 and zbv equal one device bit for bit: a token model") { matrix_of_chunks(token_layers); }
TEST_CASE("interleaved, zb_h1 and zbv equal one device bit for bit: skips over stages") {
  matrix_of_chunks(table_layers);
}

TEST_CASE("the micro-batch count changes rounding only, without batch norm") {
  auto whole = build(std::string(token_layers) + training, {"schedule.micro_batches=1"});
  const Trace one = train(*whole, 3);
  for (const int m : {2, 3, 8}) {
    auto pipe = build(std::string(token_layers) + training, {"schedule.micro_batches=" + std::to_string(m)});
    const Trace other = train(*pipe, 3);
    for (std::size_t i = 0; i < one.losses.size(); ++i)
      CHECK(other.losses[i] == doctest::Approx(one.losses[i]).epsilon(1e-6));
  }
}

TEST_CASE("accumulation over passes equals as many micro-batches in one pass") {
  auto one_pass = build(std::string(token_layers) + training, {"schedule.micro_batches=4"});
  auto two_passes = build(std::string(token_layers) + training, {"schedule.micro_batches=2", "train.accumulate=2"});
  CHECK(train(*two_passes, 3) == train(*one_pass, 3));
}

TEST_CASE("a smaller last batch is dealt anew") {
  auto pipe = build(std::string(token_layers) + training, {});
  auto alone = build(std::string(token_layers) + training, {use(1)}, true);
  for (const int rows : {8, 5, 3, 1}) {
    const Batch b = batch_for(pipe->model(), rows, rows);
    const StepResult split = pipe->step(b, 1, 1e-2), whole = alone->step(b, 1, 1e-2);
    CHECK(split.loss == whole.loss);
    CHECK(split.grad_norm == whole.grad_norm);
    CHECK(split.micro_losses.size() == static_cast<std::size_t>(std::min(rows, 4)));
  }
}

TEST_CASE("evaluation changes nothing and does not depend on the placement") {
  auto pipe = build(std::string(token_layers) + training, {});
  auto alone = build(std::string(token_layers) + training, {use(1)}, true);
  const Batch b = batch_for(pipe->model(), 7, 1);
  const double before = pipe->evaluate(b).loss;
  CHECK(pipe->evaluate(b).loss == before);
  CHECK(alone->evaluate(b).loss == before);
  CHECK(train(*pipe, 2) == train(*alone, 2));
}

TEST_CASE("predictions are made for shorter sequences, whole or of the last position") {
  auto pipe = build(std::string(token_layers) + training, {});
  for (const int64_t length : {6, 3, 6}) {
    HostTensor ids;
    ids.reset(dtype::i64, {1, length});
    for (int64_t i = 0; i < length; ++i) ids.values<int64_t>()[i] = i;
    const HostTensor all = pipe->forward(ids, false), last = pipe->forward(ids, true);
    CHECK(all.shape() == Shape{1, length, 11});
    CHECK(last.shape() == Shape{1, 1, 11});
    for (int c = 0; c < 11; ++c) CHECK(last.values<float>()[c] == all.values<float>()[(length - 1) * 11 + c]);
  }
}

TEST_CASE("parts of a device are devices of their own") {
  auto pipe = build(std::string(token_layers) + training, {"devices.use=[\"cpu:1/0\", \"cpu:1/1\", \"cpu:0\"]"});
  auto alone = build(std::string(token_layers) + training, {use(1)}, true);
  CHECK(pipe->plan().devices[1].name == "cpu:1/1");
  for (const Edge& e : pipe->plan().edges) CHECK(e.capacity > 0);
  CHECK(pipe->plan().stages.size() == 3);
  CHECK(train(*pipe, 2) == train(*alone, 2));
}
