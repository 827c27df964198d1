// The file of measured costs, and what plans make of it.
#include <doctest/doctest.h>

#include <fstream>

#include "measuring.hpp"

using namespace measuring;

namespace {

/// Made-up costs of every layer, update and link.
MeasuredCosts costs_of(const Subject& s, const Plan& plan) {
  MeasuredCosts costs;
  const std::string device = device_key(plan.devices[0]);
  for (const Layer& layer : s.model->layers())
    costs.set_layer(device, s.key(layer.index), {0.25, 0.5, 0.125, 1000, 2000, 3000});
  costs.set_update(device, "adamw", 1e-3);
  costs.set_link(device, device, {1e6, 0.5});
  return costs;
}

}  // namespace

TEST_CASE("the file's name, and that it reads back") {
  const Subject s;
  CHECK(costs_file(s.config) == (s.folder.path / "small.costs.json").string());
  const std::string file = costs_file(s.config);
  CHECK(MeasuredCosts::read(file).empty());
  const Plan plan = s.plan();
  const std::string device = device_key(plan.devices[0]);
  costs_of(s, plan).write(file);
  const MeasuredCosts back = MeasuredCosts::read(file);
  REQUIRE(back.layer(device, s.key(0)));
  CHECK(back.layer(device, s.key(0))->weight == 0.125);
  CHECK(back.layer(device, s.key(0))->workspace_backward == 3000);
  CHECK(back.update(device, "adamw") == 1e-3);
  CHECK_FALSE(back.update(device, "sgd"));
  REQUIRE(back.link(device, device));
  CHECK(back.link(device, device)->latency_s == 0.5);
  CHECK_FALSE(back.layer("another device", s.key(0)));
}

TEST_CASE("another version's file does not count; what is no such file is refused") {
  const Subject s;
  const std::string file = costs_file(s.config);
  std::ofstream(file)
      << R"({"format": 1, "program": "0.0.0", "devices": {"x": {"update_s": {}, "layers": {}}}, "links": {}})";
  CHECK(MeasuredCosts::read(file).empty());
  std::ofstream(file) << "{";
  std::string text;
  try {
    s.plan();
  } catch (const Error& e) {
    CHECK(e.code() == SY_E_CONFIG);
    text = e.what();
  }
  CHECK(contains(text, file + ": these are no measured costs"));
  CHECK(contains(text, "delete the file, or replace it with plan --measure"));
}

TEST_CASE("a plan takes measured seconds, bytes, updates and links, and says so") {
  const Subject s;
  const Plan guessed = s.plan();
  CHECK(guessed.basis() == Basis::assumed);
  costs_of(s, guessed).write(costs_file(s.config));
  const Plan p = s.plan();
  CHECK(p.basis() == Basis::measured);
  CHECK(p.times[0].forward == 0.25 * (p.stages[0].last - p.stages[0].first + 1));
  CHECK(p.times[0].weight == 0.125 * (p.stages[0].last - p.stages[0].first + 1));
  CHECK(p.layer_costs[0].workspace == 3000);
  CHECK(p.memory[0].activations > guessed.memory[0].activations);
  for (const Edge& e : p.edges)
    if (e.capacity > 0) CHECK(e.seconds == doctest::Approx(0.5 + static_cast<double>(e.bytes) / 1e6));
  CHECK(p.prediction.update_s == doctest::Approx(1e-3 * static_cast<double>(p.memory[0].gradients) / 4));
  CHECK(p.prediction.step_s > p.prediction.update_s + 16 * 0.25);
  CHECK(contains(s.text(p), "predicted from measured costs\n"));
  CHECK(contains(plan_json(p, *s.model), "\"basis\":\"measured\""));
}

TEST_CASE("costs of other shapes, options, types or threads are left alone, and the plan says what is missing") {
  const Subject s;
  const MeasuredCosts costs = costs_of(s, s.plan());
  for (const char* other :
       {"schedule.micro_batches=2", "precision.type=bf16", "layer.h.trainable=false", "layer.h.bias=false"}) {
    CAPTURE(other);
    const Subject changed({other});
    costs.write(costs_file(changed.config));
    const Plan p = changed.plan();
    CHECK(p.basis() == Basis::assumed);
    std::string notes;
    for (const std::string& n : p.notes) notes += n + "\n";
    CHECK(contains(notes, "small.costs.json does not know "));
    CHECK(contains(notes, "the first is layer 0 'h.0' (plain_linear); plan --measure times them"));
  }
  const Subject threads({"devices.threads=2"});
  costs.write(costs_file(threads.config));
  CHECK(threads.plan().basis() == Basis::assumed);
}

TEST_CASE("a described machine has no use for what was measured here") {
  const Subject s({"devices.use=auto", "devices.machine={ name = \"h200\", devices = 2 }"});
  std::ofstream(costs_file(s.config)) << "{";
  CHECK(s.plan().basis() == Basis::described);
}
