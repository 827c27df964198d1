// plan --measure on two logical CPU devices. No time is asserted; that there are some is.
#include "measure/measure.hpp"

#include <doctest/doctest.h>

#include "measuring.hpp"

using namespace measuring;

TEST_CASE("every layer, the update and the link are timed, and the next plan uses them") {
  const Subject s;
  const Plan before = s.plan();
  MeasuredCosts costs;
  measure_costs(s.config, registry(), *s.model, before, {before.largest_micro_batch()}, costs);
  const std::string device = device_key(before.devices[0]);
  for (const Layer& layer : s.model->layers()) {
    CAPTURE(layer.name);
    const MeasuredLayer* m = costs.layer(device, s.key(layer.index));
    REQUIRE(m);
    CHECK(m->forward > 0);
    CHECK(m->input > 0);
  }
  CHECK(costs.update(device, "adamw").value_or(0) > 0);
  REQUIRE(costs.link(device, device));
  CHECK(costs.link(device, device)->bytes_per_s > 0);
  costs.write(costs_file(s.config));
  const Plan after = s.plan();
  CHECK(after.basis() == Basis::measured);
  for (std::size_t d = 0; d < 2; ++d) CHECK(after.memory[d].fixed() == before.memory[d].fixed());
}

TEST_CASE("a split backward is timed in its two parts") {
  const Subject s;
  REQUIRE(s.model->layers()[0].splits());
  MeasuredCosts costs;
  const Plan plan = s.plan();
  measure_costs(s.config, registry(), *s.model, plan, {plan.largest_micro_batch()}, costs);
  CHECK(costs.layer(device_key(plan.devices[0]), s.key(1))->weight > 0);
}

TEST_CASE("costs that are there already stay; devices that are not here are refused") {
  const Subject s;
  const Plan plan = s.plan();
  MeasuredCosts costs;
  costs.set_layer("another", "layer", {1, 2, 3, 4, 5, 6});
  measure_costs(s.config, registry(), *s.model, plan, {plan.largest_micro_batch()}, costs);
  CHECK(costs.layer("another", "layer"));
  const Subject there({"devices.use=auto", "devices.machine={ name = \"h200\", devices = 2 }"});
  std::string text;
  try {
    const Plan described = there.plan();
    measure_costs(there.config, registry(), *there.model, described, {described.largest_micro_batch()}, costs);
  } catch (const Error& e) {
    text = e.what();
  }
  CHECK(contains(text, "plan --measure: device cuda:0 is not here; only devices that are here can be timed"));
}
