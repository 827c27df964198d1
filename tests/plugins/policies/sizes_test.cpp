// Every policy on 1 to 64 layers and 1 to 16 devices: complete, in order, and as even as it promises.
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "placement.hpp"

namespace {

/// Equal layers on equal devices; enough micro-batches that every device is worth it.
World equal_world(int64_t layers, std::size_t devices) {
  World w = World::equal(layers, devices);
  w.micro_batches = 32;
  w.gpipe = true;  // more stages put no more micro-batches in flight
  return w;
}

/// Each layer in one stage, stages from 0 without a gap, each on a device that is there.
void check_complete(const World& w, const Answer& a) {
  REQUIRE(a.code == SY_OK);
  int32_t stage = 0;
  for (const int32_t s : a.stage_of_layer) {
    CHECK((s == stage || s == stage + 1));
    stage = s;
  }
  CHECK(a.stage_of_layer.front() == 0);
  CHECK(a.device_of_stage.size() == static_cast<std::size_t>(stage) + 1);
  for (const int32_t d : a.device_of_stage) CHECK((d >= 0 && d < static_cast<int32_t>(w.budgets.size())));
}

std::size_t distinct_devices(const Answer& a) {
  return std::set<int32_t>(a.device_of_stage.begin(), a.device_of_stage.end()).size();
}

const std::vector<int64_t> layer_counts = {1, 2, 3, 4, 5, 7, 10, 13, 16, 17, 30, 31, 38, 47, 63, 64};

}  // namespace

TEST_CASE("round_robin: layers per device differ by at most one") {
  for (const int64_t layers : layer_counts)
    for (std::size_t devices = 1; devices <= 16; ++devices) {
      World w = equal_world(layers, devices);
      const Answer a = w.place("round_robin");
      CAPTURE(layers);
      CAPTURE(devices);
      check_complete(w, a);
      std::vector<int64_t> count(devices, 0);
      for (const int32_t s : a.stage_of_layer)
        ++count[static_cast<std::size_t>(a.device_of_stage[static_cast<std::size_t>(s)])];
      CHECK(*std::max_element(count.begin(), count.end()) - *std::min_element(count.begin(), count.end()) <= 1);
    }
}

TEST_CASE("contiguous: sizes differ by at most one; more devices than layers is refused with both numbers") {
  for (const int64_t layers : layer_counts)
    for (std::size_t devices = 1; devices <= 16; ++devices) {
      World w = equal_world(layers, devices);
      const Answer a = w.place("contiguous");
      CAPTURE(layers);
      CAPTURE(devices);
      if (devices > static_cast<std::size_t>(layers)) {
        CHECK(a.code == SY_E_CONFIG);
        CHECK(a.text.find(std::to_string(devices) + " stages") != std::string::npos);
        CHECK(a.text.find("the model has " + std::to_string(layers) + " layer") != std::string::npos);
        continue;
      }
      check_complete(w, a);
      const std::vector<int64_t> sizes = a.sizes();
      CHECK(sizes.size() == devices);
      CHECK(sizes.front() - sizes.back() <= 1);
      CHECK(std::is_sorted(sizes.rbegin(), sizes.rend()));
    }
}

TEST_CASE("explicit: as it is told, complete") {
  for (const int64_t layers : layer_counts)
    for (std::size_t devices = 1; devices <= 16; ++devices) {
      World w = equal_world(layers, devices);
      for (std::size_t i = 0; i < w.layers.size(); ++i) w.layers[i].pin = static_cast<int32_t>(i * 7 % devices);
      const Answer a = w.place("explicit");
      check_complete(w, a);
      for (std::size_t i = 0; i < w.layers.size(); ++i)
        CHECK(a.device_of_stage[static_cast<std::size_t>(a.stage_of_layer[i])] == w.layers[i].pin);
    }
}

TEST_CASE("the balanced policies: never less even than contiguous, one stage on each device, no more than layers") {
  for (const char* policy : {"memory_balanced", "time_balanced"})
    for (const int64_t layers : layer_counts)
      for (std::size_t devices = 1; devices <= 16; devices += devices < 5 ? 1 : 3) {
        World w = equal_world(layers, devices);
        const Answer a = w.place(policy);
        CAPTURE(policy);
        CAPTURE(layers);
        CAPTURE(devices);
        check_complete(w, a);
        CHECK(a.device_of_stage.size() <= std::min<std::size_t>(devices, static_cast<std::size_t>(layers)));
        CHECK(distinct_devices(a) == a.device_of_stage.size());
        if (devices > static_cast<std::size_t>(layers)) continue;
        const World::Judgement mine = w.judge(a), even = w.judge(w.place("contiguous"));
        if (policy == std::string("memory_balanced"))
          CHECK(mine.ratio <= even.ratio);
        else
          CHECK(mine.seconds <= even.seconds);
      }
}

TEST_CASE("30 layers on 4 devices, 5 on 4, 10 on 3: the longest stage does as little as it can") {
  struct Case {
    int64_t layers;
    std::size_t devices;
    int64_t longest;
  };
  for (const Case& c : {Case{30, 4, 8}, Case{5, 4, 2}, Case{10, 3, 4}}) {
    World w = equal_world(c.layers, c.devices);
    for (const char* policy : {"contiguous", "memory_balanced", "time_balanced"}) {
      CAPTURE(policy);
      CAPTURE(c.layers);
      const std::vector<int64_t> sizes = w.place(policy).sizes();
      CHECK(*std::max_element(sizes.begin(), sizes.end()) == c.longest);
    }
  }
}
