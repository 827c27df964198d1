// What the balanced policies themselves take, without the core's judgements: their own milliseconds and how many
// judgements they ask for, over growing models and machines.
//
//   build/tests/bench/policy-bench

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <random>
#include <string>

#include "../plugins/policies/placement.hpp"

namespace {

/// Blocks between an embedding and a head, on hosts of unequal devices where `kinds` is more than 1.
World model(std::size_t layers, std::size_t devices, int kinds, bool free) {
  std::mt19937 random(1);
  World w = World::equal(static_cast<int64_t>(layers), devices);
  w.micro_batches = 64;
  for (TestLayer& l : w.layers) l.flops = 90 + static_cast<double>(random() % 20), l.saved = 400, l.free = free;
  w.layers.front().weights = w.layers.back().weights = 3000;
  const uint64_t even = layers / devices + 1;
  for (std::size_t d = 0; d < devices; ++d) {
    const int kind = static_cast<int>(d / 8) % kinds;
    w.speeds.push_back(1 + 0.5 * kind);
    w.budgets[d] = (free ? 5000 : 40000) * even * static_cast<uint64_t>(2 + kind) / 2 + 20000;
  }
  return w;
}

void measure(const char* policy, std::size_t layers, std::size_t devices, int kinds, bool free) {
  World w = model(layers, devices, kinds, free);
  w.place("memory_balanced");  // loads the plugin
  w.evaluations = 0, w.evaluate_seconds = 0;
  const std::clock_t begin = std::clock();
  const Answer a = w.place(policy);
  const double seconds = static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  std::printf("%-16s %6zu layers %5zu devices of %d kinds%s: %8.1f ms own, %3d judgements, %zu stages%s\n", policy,
              layers, devices, kinds, free ? ", recompute free" : "", 1e3 * (seconds - w.evaluate_seconds),
              w.evaluations, a.device_of_stage.size(),
              a.code != SY_OK ? " refused"
              : a.closest     ? " over budget"
                              : "");
}

}  // namespace

int main() {
  for (const char* policy : {"memory_balanced", "time_balanced"})
    for (const int kinds : {1, 3}) {
      measure(policy, 8, 4, kinds, false);
      measure(policy, 100, 8, kinds, false);
      measure(policy, 1000, 16, kinds, false);
      measure(policy, 1000, 16, kinds, true);
      measure(policy, 3000, 256, kinds, false);
      measure(policy, 10000, 4096, kinds, false);
    }
}
