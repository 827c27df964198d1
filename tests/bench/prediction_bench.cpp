// Predicted step times against measured ones: a GPT of the book example's size on two logical CPU devices of one thread
// each, over policies, schedules and micro-batch counts. Layers are timed anew for each micro-batch count.
//
//   build/tests/bench/prediction-bench [ROUNDS]
// Prints each ratio and the median error (target: at most 10 %). Wants a machine with two cores to itself.

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "../core/engine/plain_model.hpp"
#include "measure/measure.hpp"

namespace {

using namespace plain;
namespace fs = std::filesystem;

const char* const gpt = R"(
[model]
context = 128
[[layer]]
type = "embedding"
name = "embed"
vocabulary = 256
width = 128
positions = "learned"
[[layer]]
type = "gpt_block"
name = "h"
repeat = 4
heads = 4
[[layer]]
type = "lm_head"
name = "head"
vocabulary = 256
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[train]
batch = 16
optimizer = { type = "adamw", lr = 1e-3 }
)";

/// Gone with the program's end.
struct Folder {
  fs::path path;
  Folder() {
    std::string name = (fs::temp_directory_path() / "prediction-XXXXXX").string();
    path = mkdtemp(name.data());
  }
  ~Folder() { fs::remove_all(path); }
};

Config configured(const Folder& folder, const std::string& policy, const std::string& schedule, int micro_batches) {
  return parse_config(gpt, (folder.path / "gpt.toml").string(),
                      {"placement.policy=" + policy, "schedule.type=" + schedule,
                       "schedule.micro_batches=" + std::to_string(micro_batches)});
}

Batch tokens(int64_t rows) {
  Batch b;
  b.inputs.reset(dtype::i64, {rows, 128});
  b.targets.reset(dtype::i64, {rows, 128});
  uint64_t state = 1;
  for (HostTensor* t : {&b.inputs, &b.targets})
    for (int64_t& id : t->values<int64_t>())
      state = state * 6364136223846793005u + 1, id = static_cast<int64_t>(state >> 40) % 256;
  return b;
}

double median(std::vector<double> all) {
  std::nth_element(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2), all.end());
  return all[all.size() / 2];
}

void time_layers(const Folder& folder, int micro_batches) {
  const Config config = configured(folder, "contiguous", "1f1b", micro_batches);
  BatchSpec spec;
  spec.input_shape = {128}, spec.input_dtype = dtype::i64;
  const auto model = Model::create(config, registry(), spec, micro_batch_rows(config)[0].count);
  MeasuredCosts costs = MeasuredCosts::read(costs_file(config));
  measure_costs(config, registry(), *model, make_plan(config, registry(), *model), costs);
  costs.write(costs_file(config));
}

/// Median seconds of a step, after two to warm up.
double step_seconds(Pipe& pipe, int rounds) {
  const Batch batch = tokens(16);
  std::vector<double> seconds;
  for (int r = 0; r < rounds + 2; ++r) {
    const auto start = std::chrono::steady_clock::now();
    pipe.step(batch, static_cast<uint64_t>(r + 1), 1e-3);
    if (r >= 2) seconds.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return median(seconds);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  const Folder folder;
  std::vector<double> errors;
  std::printf("micro-batches  policy           schedule  predicted  measured  ratio\n");
  for (const int micro_batches : {2, 4, 8, 16}) {
    time_layers(folder, micro_batches);
    for (const char* policy : {"contiguous", "memory_balanced", "round_robin"})
      for (const char* schedule : {"gpipe", "1f1b", "zb_h1"}) {
        const auto pipe = build(configured(folder, policy, schedule, micro_batches));
        const double predicted = pipe->plan().prediction.step_s, measured = step_seconds(*pipe, rounds);
        errors.push_back(std::fabs(predicted / measured - 1));
        std::printf("%13d  %-15s  %-8s  %6.1f ms  %5.1f ms  %.3f\n", micro_batches, policy, schedule, predicted * 1e3,
                    measured * 1e3, predicted / measured);
        std::fflush(stdout);
      }
  }
  std::printf("median error %.1f %%, largest %.1f %%\n", 100 * median(errors),
              100 * *std::max_element(errors.begin(), errors.end()));
}
