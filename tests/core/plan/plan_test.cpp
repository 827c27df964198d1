// Whole plans: what they say to people and programs.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "plan/remarks.hpp"
#include "planning.hpp"

using namespace planning;
using Json = nlohmann::json;

namespace {

const std::vector<std::string> contiguous = {"placement.policy=contiguous"};

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

TEST_CASE("contiguous hands over once, round_robin at every layer, and the plan says what the difference is") {
  const std::string text = deep(8) + on(2) + training;
  const Plan straight = make(text, contiguous).plan;
  const Plan dealt = make(text, {"placement.policy=round_robin", "placement.round_robin.deal=h.*"}).plan;
  const auto count = [](const Plan& plan, bool back) {
    int n = 0;
    for (const Edge& e : plan.edges) n += e.capacity > 0 && e.backward == back;
    return n;
  };
  CHECK(count(straight, false) == 1);
  CHECK(count(straight, true) == 1);
  CHECK(count(dealt, false) >= 7);
  CHECK(contains(joined(dealt.warnings), "activations return to cpu:0"));
  CHECK(contains(joined(dealt.warnings), "contiguous needs 1 hand-over instead of"));
  CHECK(contains(joined(dealt.warnings), "--set placement.policy=contiguous"));
  CHECK_FALSE(contains(joined(straight.warnings), "return"));
}

TEST_CASE("fewer micro-batches than stages: a warning with the idle share, and what helps") {
  const std::string text = deep(4) + on(4) + training;
  const Planned one = make(text, with(contiguous, {"schedule.micro_batches=1"}));
  CHECK(contains(joined(one.plan.warnings), "schedule.micro_batches = 1 is below the 4 stages: devices wait 75 %"));
  CHECK(contains(joined(one.plan.warnings), "--set schedule.micro_batches=8"));
  CHECK(contains(plan_text(one.plan, *one.model), "bubble  75 %"));
  const Planned eight = make(text, with(contiguous, {"schedule.micro_batches=8"}));
  CHECK(contains(plan_text(eight.plan, *eight.model), "bubble  27 %"));
  CHECK_FALSE(contains(joined(eight.plan.warnings), "micro_batches"));
  const Plan small = make(text, with(contiguous, {"schedule.micro_batches=1", "train.batch=1"})).plan;
  CHECK(contains(joined(small.warnings), "more need a larger train.batch (now 1 samples)"));
}

TEST_CASE("a device without layers is named") {
  const Plan plan = make(deep(2) + on(3) + training + "[placement.explicit]\n\"*\" = \"cpu:0\"\n\"loss\" = \"cpu:2\"\n",
                         {"placement.policy=explicit"})
                        .plan;
  CHECK(contains(joined(plan.warnings), "cpu:1 has no layer; take it out of devices.use"));
  const Plan many =
      make(deep(2) + on(9) + training + "[placement.explicit]\n\"*\" = \"cpu:3\"\n", {"placement.policy=explicit"})
          .plan;
  CHECK(contains(joined(many.warnings), "8 of 9 devices have no layer (cpu:0, cpu:1, cpu:2, ...); take them out"));
}

TEST_CASE("it says whether one device would do, and what the split costs") {
  const std::string text = deep(4) + on(2) + training;
  const Plan fits = make(text, contiguous).plan;
  CHECK(contains(joined(fits.notes), "it fits on cpu:0 alone ("));
  CHECK(contains(joined(fits.notes), "no budget); one device would take"));
  const uint64_t need = fits.memory[0].peak() + fits.memory[1].peak() / 2;
  const Plan split = make(text, with(contiguous, {"devices.memory=" + std::to_string(need)})).plan;
  CHECK(contains(joined(split.notes), "it does not fit on cpu:0 alone"));
  CHECK(make(deep(4) + on(1) + training, contiguous).plan.notes.empty());
}

TEST_CASE("over a budget: layer, device, missing bytes, largest item, remedy") {
  std::string text;
  try {
    make(deep(8, 64) + on(2) + training, with(contiguous, {"devices.memory=100KiB"}));
  } catch (const Error& e) {
    CHECK(e.code() == SY_E_INFEASIBLE);
    REQUIRE(e.note("layer"));
    CHECK(*e.note("layer") == "h.1");
    CHECK(*e.note("device") == "cpu:0");
    text = e.what();
  }
  CHECK(contains(text, "test.toml:3:1: layer 1 'h.1' (plain_linear) does not fit on cpu:0: needs "));
  CHECK(contains(text, " left of 100 KiB ("));
  CHECK(contains(text, " short); largest item: optimizer states, "));
  CHECK(contains(text, "checked, and not enough"));
}

TEST_CASE("smaller micro-batches are proposed where activations are the problem") {
  const std::string text =
      refusal(deep(8, 4) + on(2) + training, with(contiguous, {"devices.memory=40KiB", "train.batch=512"}));
  CHECK(contains(text, "largest item: activations"));
  CHECK(contains(text, "what helps: schedule.micro_batches = "));
}

TEST_CASE("fewer layers than stages, fewer samples than micro-batches: both numbers") {
  const std::string text = refusal(deep(8) + on(2) + training, with(contiguous, {"schedule.micro_batches=17"}));
  CHECK(contains(text, "17"));
  CHECK(contains(text, "16"));
}

TEST_CASE("30 layers and a loss on 4 devices: sizes differ by one at most, no layer is lost") {
  const Plan plan = make(deep(29) + on(4) + training, contiguous).plan;
  int total = 0;
  for (const Stage& s : plan.stages) {
    const int size = s.last - s.first + 1;
    total += size;
    CHECK(size >= 7);
    CHECK(size <= 8);
  }
  CHECK(total == 30);
}

TEST_CASE("the table compresses names and shows every device") {
  const Planned p = make(deep(8) + on(2) + training, contiguous);
  const std::string text = plan_text(p.plan, *p.model);
  CHECK(contains(text, "9 layers, 2 stages, 2 devices; contiguous, "));
  CHECK(contains(text, "h.0 .. h.4"));
  CHECK(contains(text, "h.5 .. h.7, loss"));
  CHECK(contains(text, "edges   1 forward, 1 back for each micro-batch, 1 KiB each, copied in memory"));
  CHECK(contains(text, "why: "));
}

TEST_CASE("groups stand under the names of their copies") {
  const std::string layers = R"(
[model]
input = { shape = [8] }
[[layer]]
name = "b"
repeat = 3
[[layer.layer]]
type = "plain_linear"
name = "up"
out = 8
[[layer.layer]]
type = "plain_tanh"
name = "act"
[[layer]]
type = "plain_cross_entropy"
name = "loss"
)";
  const auto cut_at = [&](const std::string& layer) {
    const Planned p =
        make(layers + on(2) + training + "[placement.contiguous]\ncuts = [\"" + layer + "\"]\n", contiguous);
    return plan_text(p.plan, *p.model);
  };
  CHECK(contains(cut_at("b.2"), "b.0 .. b.1 "));
  CHECK(contains(cut_at("b.2"), "b.2, loss"));
  CHECK(contains(cut_at("b.1.act"), "b.0 .. b.1.up"));
  CHECK(contains(cut_at("b.1.act"), "b.1.act .. b.2, loss"));
}

TEST_CASE("the JSON holds the whole plan") {
  const Planned p = make(deep(4) + on(2) + training, with(contiguous, {"schedule.micro_batches=4"}));
  const std::string text = plan_json(p.plan, *p.model);
  const Json json = Json::parse(text);
  CHECK(json["format"] == 1);
  CHECK(json["parameters"] == 4 * (16 * 16 + 16));
  CHECK(json["micro_batches"] == Json({{"count", 4}, {"rows", {4, 4, 4, 4}}, {"passes", 1}}));
  CHECK(json["transfers"]["forward"] == 1);
  CHECK(json["transfers"]["backward_bytes"] == 4 * 16 * 4);
  REQUIRE(json["devices"].size() == 2);
  for (std::size_t d = 0; d < 2; ++d) {
    const Json& device = json["devices"][d];
    CHECK(device["replica"] == 0);
    CHECK(device["shard"] == 0);
    CHECK(device["memory"]["peak"] == p.plan.memory[d].peak());
    REQUIRE(device["program"].size() == p.plan.train[d].size());
    CHECK(device["program"][0] == Json({"F", p.plan.train[d][0].stage, 0}));
    CHECK_FALSE(device.contains("budget"));
  }
  for (const Json& layer : json["layers"])
    CHECK(layer["stage"] == p.plan.stage_of_layer[layer["index"].get<std::size_t>()]);
  CHECK(json["edges"].size() == 2);
  CHECK(json["edges"][0]["path"] == "memory");
  CHECK(json["prediction"]["idle"].size() == 2);
  CHECK(contains(text, "\n \"stages\": [\n  {"));  // lines that a person and diff can use
}

TEST_CASE("the JSON tells what each layer costs, and the layers of a stage add up to its time") {
  const Planned p =
      make(deep(4) + on(2) + training, with(contiguous, {"schedule.micro_batches=4", "train.recompute=[\"h.1\"]"}));
  const Json json = Json::parse(plan_json(p.plan, *p.model));
  const Json& cost = json["layers"][0]["cost"];
  CHECK(cost["flops_forward"] == 2 * 4 * 16 * 16);
  CHECK(cost["flops_input"] == 2 * 4 * 16 * 16);
  CHECK(cost["saved"] == 4 * 16 * 4);  // the kept input
  CHECK(json["edges"][0]["travel_s"] == p.plan.edges[0].seconds);
  const double once = cost["input_s"], again = json["layers"][1]["cost"]["input_s"], forward = cost["forward_s"];
  CHECK(again == doctest::Approx(once + forward));
  for (const Stage& s : p.plan.stages) {
    double sum = 0;
    for (int l = s.first; l <= s.last; ++l) sum += json["layers"][l]["cost"]["input_s"].get<double>();
    CHECK(sum == doctest::Approx(p.plan.times[s.index].input));
  }
}

TEST_CASE("the same configuration gives the same plan") {
  const std::string text = deep(6) + on(3) + training;
  for (const char* policy : {"contiguous", "round_robin", "memory_balanced"}) {
    const std::vector<std::string> sets = {std::string("placement.policy=") + policy};
    const Planned a = make(text, sets), b = make(text, sets);
    CHECK(plan_json(a.plan, *a.model) == plan_json(b.plan, *b.model));
  }
}

TEST_CASE("of devices without layers the table shows two and counts the others") {
  const Planned p =
      make(deep(2) + on(9) + training, {"placement.policy=contiguous", "placement.contiguous.cuts=[\"h.1\"]"});
  const std::string text = plan_text(p.plan, *p.model);
  CHECK(contains(text, "cpu:3 "));
  CHECK_FALSE(contains(text, "cpu:4 "));
  CHECK(contains(text, "\n5 more without layers\n"));
}
