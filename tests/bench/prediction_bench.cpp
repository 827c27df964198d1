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
#include <string>

#include "../core/engine/plain_model.hpp"
#include "../core/store/temp_folder.hpp"
#include "book_gpt.hpp"
#include "measure/measure.hpp"
#include "measure/stopwatch.hpp"

namespace {

using namespace plain;

const std::string gpt = bench::book_gpt + std::string(R"(
[devices]
use = ["cpu:0", "cpu:1"]
threads = 1
[train]
batch = 16
optimizer = { type = "adamw", lr = 1e-3 }
)");

using test::TempFolder;

Config configured(const TempFolder& folder, const std::string& policy, const std::string& schedule, int micro_batches) {
  return parse_config(gpt, folder / "gpt.toml",
                      {"placement.policy=" + policy, "schedule.type=" + schedule,
                       "schedule.micro_batches=" + std::to_string(micro_batches)});
}

void time_layers(const TempFolder& folder, int micro_batches) {
  const Config config = configured(folder, "contiguous", "1f1b", micro_batches);
  BatchSpec spec;
  spec.input_shape = {128}, spec.input_dtype = dtype::i64;
  const auto model = Model::create(config, registry(), spec, micro_batch_rows(config)[0].count);
  MeasuredCosts costs = MeasuredCosts::read(costs_file(config));
  measure_costs(config, registry(), *model, make_plan(config, registry(), *model), {micro_batch_rows(config)[0].count}, costs);
  costs.write(costs_file(config));
}

/// Median seconds of a step, after two to warm up.
double step_seconds(Pipe& pipe, int rounds) {
  const Batch batch = bench::tokens(16);
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
  const TempFolder folder;
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
