// round_robin, contiguous, explicit.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "../../support/text.hpp"
#include "placement.hpp"

using Sizes = std::vector<int64_t>;

using switchyard::test::contains;

namespace {

World gpt(std::size_t devices) {
  return World::named({"embed", "h.0", "h.1", "h.2", "h.3", "h.4", "h.5", "norm", "head"}, devices);
}

}  // namespace

TEST_CASE("round_robin deals every layer: 8 on 2 devices is 7 + 7 transfers") {
  const Answer a = World::equal(8, 2).place("round_robin");
  CHECK(a.code == SY_OK);
  CHECK(a.devices() == "0 1 0 1 0 1 0 1");
  CHECK(a.device_of_stage.size() == 8);
  CHECK(contains(a.text, "7 transfers"));
}

TEST_CASE("round_robin deals what the pattern names; the ends stay on the first device, or split") {
  CHECK(gpt(2).place("round_robin", {{"deal", "\"h.*\""}}).devices() == "0 0 1 0 1 0 1 0 0");
  CHECK(gpt(2).place("round_robin", {{"deal", "\"h.*\""}, {"ends", "\"split\""}}).devices() == "0 0 1 0 1 0 1 1 1");
  CHECK(gpt(3).place("round_robin", {{"deal", "\"h.*\""}, {"ends", "\"split\""}}).devices() == "0 0 1 2 0 1 2 2 2");
}

TEST_CASE("round_robin: neighbours on one device are one stage") {
  const Answer a = gpt(2).place("round_robin", {{"deal", "\"h.*\""}});
  CHECK(a.stage_of_layer == std::vector<int32_t>{0, 0, 1, 2, 3, 4, 5, 6, 6});
  CHECK(a.device_of_stage == std::vector<int32_t>{0, 1, 0, 1, 0, 1, 0});
}

TEST_CASE("round_robin deals a copy of a group as one") {
  World w = World::named({"in", "h.0.attn", "h.0.mlp", "h.1.attn", "h.1.mlp", "h.2.attn", "h.2.mlp", "out"}, 2);
  CHECK(w.place("round_robin", {{"deal", "\"h.*\""}}).devices() == "0 0 0 1 1 0 0 0");
  CHECK(w.place("round_robin", {{"deal", "\"h.*.attn\""}}).devices() == "0 0 0 1 1 0 0 0");
  CHECK(w.place("round_robin").devices() == "0 1 0 1 0 1 0 1");
}

TEST_CASE("round_robin: two groups in one pattern do not grow together") {
  World w = World::named({"a.0.x", "a.0.y", "b.0.x", "b.0.y", "b.1.x"}, 4);
  CHECK(w.place("round_robin", {{"deal", "\"*\""}}).devices() == "0 0 1 1 2");
}

TEST_CASE("round_robin: more devices than layers leaves some empty; pins are followed") {
  CHECK(World::equal(2, 4).place("round_robin").devices() == "0 1");
  World w = World::equal(4, 2);
  w.layers[1].pin = 0;
  CHECK(w.place("round_robin").devices() == "0 0 0 1");
}

TEST_CASE("round_robin: a pattern that matches nothing is refused") {
  const Answer a = gpt(2).place("round_robin", {{"deal", "\"k.*\""}});
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "k.*"));
}

TEST_CASE("round_robin: too many stages are refused with both numbers") {
  World w = World::equal(8, 2);
  w.max_stages = 4;
  const Answer a = w.place("round_robin");
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "8 stages"));
  CHECK(contains(a.text, "at most 4"));
}

TEST_CASE("contiguous: sizes differ by at most one, the larger first, none is lost") {
  CHECK(World::equal(30, 4).place("contiguous").sizes() == Sizes{8, 8, 7, 7});
  CHECK(World::equal(5, 4).place("contiguous").sizes() == Sizes{2, 1, 1, 1});
  CHECK(World::equal(38, 8).place("contiguous").sizes() == Sizes{5, 5, 5, 5, 5, 5, 4, 4});
  CHECK(World::equal(3, 1).place("contiguous").sizes() == Sizes{3});
  for (int64_t layers = 1; layers < 40; ++layers)
    for (std::size_t devices = 1; devices <= static_cast<std::size_t>(layers) && devices < 10; ++devices) {
      const Sizes sizes = World::equal(layers, devices).place("contiguous").sizes();
      CHECK(sizes.size() == devices);
      CHECK(sizes.front() - sizes.back() <= 1);
    }
}

TEST_CASE("contiguous: more stages than layers is refused with both numbers") {
  const Answer a = World::equal(3, 4).place("contiguous");
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "4 stages"));
  CHECK(contains(a.text, "3 layers"));
}

TEST_CASE("contiguous: counts, and what is wrong with them") {
  CHECK(World::equal(34, 2).place("contiguous", {{"counts", "[18, 16]"}}).sizes() == Sizes{18, 16});
  CHECK(World::equal(5, 4).place("contiguous", {{"counts", "[2, 3]"}}).devices() == "0 0 1 1 1");
  const Answer sum = World::equal(5, 2).place("contiguous", {{"counts", "[2, 2]"}});
  CHECK(sum.code == SY_E_CONFIG);
  CHECK(contains(sum.text, "4"));
  CHECK(contains(sum.text, "5 layers"));
  const Answer many = World::equal(5, 2).place("contiguous", {{"counts", "[2, 2, 1]"}});
  CHECK(many.code == SY_E_CONFIG);
  CHECK(contains(many.text, "2 devices"));
}

TEST_CASE("contiguous: chunks give each device several runs, in rounds or back and forth") {
  const std::map<std::string, std::string> two = {{"chunks", "2"}}, v = {{"chunks", "2"}, {"order", "\"v\""}};
  CHECK(World::equal(6, 3).place("contiguous", two).devices() == "0 1 2 0 1 2");
  CHECK(World::equal(6, 3).place("contiguous", v).devices() == "0 1 2 2 1 0");
  CHECK(World::equal(6, 3).place("contiguous", v).sizes() == Sizes{1, 1, 2, 1, 1});
  CHECK(World::equal(9, 2).place("contiguous", two).sizes() == Sizes{3, 2, 2, 2});
  CHECK(World::equal(6, 2).place("contiguous", {{"chunks", "3"}, {"order", "\"v\""}}).devices() == "0 1 1 0 0 1");
  CHECK(World::equal(5, 3).place("contiguous", {{"order", "\"v\""}}).devices() == "0 0 1 1 2");
  CHECK(World::equal(6, 2).place("contiguous", {{"chunks", "2"}, {"counts", "[1, 2, 3]"}}).devices() == "0 1 1 0 0 0");
}

TEST_CASE("contiguous: more chunks than layers are refused with both numbers") {
  const Answer a = World::equal(5, 3).place("contiguous", {{"chunks", "2"}});
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "devices x chunks ask for 6 stages, but the model has 5 layers"));
  CHECK(contains(World::equal(9, 2).place("contiguous", {{"chunks", "2"}, {"counts", "[1, 1, 1, 1, 5]"}}).text,
                 "there are 2 devices of 2 chunks"));
}

TEST_CASE("contiguous: weights share the flops") {
  CHECK(World::equal(30, 2).place("contiguous", {{"weights", "[2.0, 1.0]"}}).sizes() == Sizes{20, 10});
  CHECK(World::equal(4, 3).place("contiguous", {{"weights", "[100, 1, 1]"}}).sizes() == Sizes{2, 1, 1});
  World uneven = World::equal(6, 2);
  uneven.layers[0].flops = 5;
  CHECK(uneven.place("contiguous", {{"weights", "[1, 1]"}}).sizes() == Sizes{1, 5});
  World unknown = World::equal(6, 2);
  for (TestLayer& l : unknown.layers) l.flops = 0;
  CHECK(unknown.place("contiguous", {{"weights", "[1, 2]"}}).sizes() == Sizes{2, 4});
}

TEST_CASE("contiguous: cuts by layer, group and pattern") {
  World w = World::named({"in", "h.0.attn", "h.0.mlp", "h.1.attn", "h.1.mlp", "out"}, 3);
  CHECK(w.place("contiguous", {{"cuts", "[\"h.1\"]"}}).sizes() == Sizes{3, 3});
  CHECK(w.place("contiguous", {{"cuts", "[\"h.0.mlp\", \"out\"]"}}).sizes() == Sizes{2, 3, 1});
  CHECK(w.place("contiguous", {{"cuts", "[\"h.*\"]"}}).sizes() == Sizes{1, 5});
}

TEST_CASE("contiguous: wrong cuts are named") {
  World w = World::named({"in", "h.0", "h.1", "out"}, 3);
  CHECK(contains(w.place("contiguous", {{"cuts", "[\"k\"]"}}).text, "'k'"));
  const Answer first = w.place("contiguous", {{"cuts", "[\"in\"]"}});
  CHECK(first.code == SY_E_CONFIG);
  const Answer order = w.place("contiguous", {{"cuts", "[\"h.1\", \"h.0\"]"}});
  CHECK(order.code == SY_E_CONFIG);
  CHECK(contains(order.text, "h.0"));
  CHECK(contains(order.text, "h.1"));
  CHECK(w.place("contiguous", {{"cuts", "[\"h.0\", \"h.1\", \"out\"]"}}).code == SY_E_CONFIG);
}

TEST_CASE("contiguous: cuts, counts and weights exclude each other") {
  const Answer a = World::equal(4, 2).place("contiguous", {{"counts", "[2, 2]"}, {"weights", "[1, 1]"}});
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "exclude"));
}

TEST_CASE("contiguous: a pin elsewhere is an error that names layer and devices") {
  World w = World::equal(4, 2);
  w.layers[3].pin = 0;
  const Answer a = w.place("contiguous");
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "h.3"));
  CHECK(contains(a.text, "cpu:0"));
  CHECK(contains(a.text, "cpu:1"));
  w.layers[3].pin = 1;
  CHECK(w.place("contiguous").code == SY_OK);
}

TEST_CASE("explicit: as written, also not contiguous") {
  World w = World::equal(5, 3);
  const int32_t pins[] = {2, 2, 0, 2, 1};
  for (std::size_t i = 0; i < 5; ++i) w.layers[i].pin = pins[i];
  const Answer a = w.place("explicit");
  CHECK(a.devices() == "2 2 0 2 1");
  CHECK(a.stage_of_layer == std::vector<int32_t>{0, 0, 1, 2, 3});
}

TEST_CASE("explicit: all layers without a device are listed at once") {
  World w = World::named({"tokens", "positions", "h.0", "head"}, 2);
  w.layers[0].pin = 0, w.layers[2].pin = 1;
  const Answer a = w.place("explicit");
  CHECK(a.code == SY_E_CONFIG);
  CHECK(contains(a.text, "layer 1 'positions'"));
  CHECK(contains(a.text, "layer 3 'head'"));
  CHECK(contains(a.text, "2 layers"));
}

TEST_CASE("nothing to place is an error, no crash") {
  for (const char* policy : {"round_robin", "contiguous", "explicit", "memory_balanced", "time_balanced"}) {
    CHECK(World::equal(0, 2).place(policy).code == SY_E_CONFIG);
    CHECK(World::equal(2, 0).place(policy).code == SY_E_CONFIG);
  }
}
