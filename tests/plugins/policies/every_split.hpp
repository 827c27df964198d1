// All contiguous placements of a small model, and random models to look for the best one in.
#pragma once

#include <functional>
#include <random>
#include <string>
#include <vector>

#include "placement.hpp"

/// Calls body(stage_of_layer, device_of_stage) for every contiguous split on distinct devices in any order.
inline void for_every_split(std::size_t layers, std::size_t devices,
                            const std::function<void(const std::vector<int32_t>&, const std::vector<int32_t>&)>& body) {
  std::vector<int32_t> stage_of_layer, device_of_stage;
  std::vector<bool> used(devices, false);
  const std::function<void(std::size_t)> extend = [&](std::size_t first) {
    if (first == layers) return body(stage_of_layer, device_of_stage);
    for (std::size_t d = 0; d < devices; ++d) {
      if (used[d]) continue;
      used[d] = true;
      device_of_stage.push_back(static_cast<int32_t>(d));
      for (std::size_t end = first + 1; end <= layers; ++end) {
        stage_of_layer.push_back(static_cast<int32_t>(device_of_stage.size()) - 1);
        extend(end);
      }
      stage_of_layer.resize(first);
      device_of_stage.pop_back();
      used[d] = false;
    }
  };
  extend(0);
}

/// Uneven layers: an embedding, blocks, a head with logits; a skip now and then.
inline World random_world(std::mt19937& random, std::size_t layers, std::size_t devices) {
  const auto number = [&](uint32_t below) { return static_cast<uint64_t>(random() % below); };
  World w = World::equal(0, devices);
  for (std::size_t i = 0; i < layers; ++i) {
    TestLayer l{"h." + std::to_string(i)};
    l.weights = random() % 5 == 0 ? 0 : number(1000);
    l.grads = l.weights * 2, l.states = l.weights * 6;
    l.saved = number(800), l.outputs = 1 + number(200), l.workspace = number(300);
    l.flops = 1 + static_cast<double>(number(20));
    l.keeps_input = random() % 2 == 0;
    if (i > 2 && random() % 5 == 0)
      l.inputs = {static_cast<int32_t>(i) - 1, static_cast<int32_t>(number(static_cast<uint32_t>(i - 1)))};
    w.layers.push_back(l);
  }
  if (layers > 0) w.layers.back().workspace += number(4000);  // logits
  w.micro_batches = 1 + static_cast<uint32_t>(number(8));
  w.gpipe = random() % 2 == 0;
  for (uint64_t& b : w.budgets) b = 3000 + number(30000);
  return w;
}

/// The same with free layers: budgets that ask for recomputing now and then.
inline World random_free_world(std::mt19937& random, std::size_t layers, std::size_t devices) {
  World w = random_world(random, layers, devices);
  for (TestLayer& l : w.layers) {
    l.free = random() % 4 != 0;
    l.saved += 300;
  }
  return w;
}
