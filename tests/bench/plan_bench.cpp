// How long planning takes and how it grows: a chain of linear layers over more and more devices, 64 micro-batches.
//   build/tests/bench/plan-bench [POLICY...]          (default: contiguous memory_balanced)
// `plan` is placing, scheduling, checking, the memory account and the simulation; `model` is reading the file and
// asking the layers. `memory` is what the process holds more than before, at its largest; each size runs in a child
// process. Targets: 1,000 layers on 16 devices below 100 ms, 10,000 on 4,096 below 10 s, memory linear in devices.

#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "../core/plan/planning.hpp"

namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

long peak_kib() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

void measure(const std::string& policy, int layers, int devices) {
  const std::string text = planning::deep(layers - 1, 64) + planning::on(devices) + planning::training;
  const std::vector<std::string> sets = {"placement.policy=" + policy, "schedule.type=1f1b",
                                         "schedule.micro_batches=64", "train.batch=64"};
  planning::registry();  // looks for the plugins
  const long before = peak_kib();
  const double begin = now();
  const planning::Config config = planning::parse_config(text, "bench.toml", sets);
  planning::BatchSpec spec;
  spec.input_shape = config.model.input->shape;
  spec.input_dtype = planning::dtype::f32;
  const auto model = planning::Model::create(config, planning::registry(), spec, 1);
  const double modelled = now();
  const planning::Plan plan = planning::make_plan(config, planning::registry(), *model);
  const double planned = now();
  std::printf("%-16s %6d %7d   %8.3f s %8.3f s %7ld MiB   %zu stages, idle of the first %.1f %%\n", policy.c_str(),
              layers, devices, modelled - begin, planned - modelled, (peak_kib() - before) / 1024, plan.stages.size(),
              100 * plan.prediction.idle[0]);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> policies(argv + 1, argv + argc);
  if (policies.empty()) policies = {"contiguous", "memory_balanced"};
  std::printf("%-16s %6s %7s   %10s %10s %11s\n", "policy", "layers", "devices", "model", "plan", "memory");
  std::fflush(stdout);
  int failed = 0;
  for (const std::string& policy : policies)
    for (const auto& [layers, devices] : {std::pair{1000, 16}, {2500, 1024}, {5000, 2048}, {10000, 4096}}) {
      const pid_t child = fork();
      if (child == 0) {
        try {
          measure(policy, layers, devices);
        } catch (const std::exception& e) {
          std::printf("%s: %s\n", policy.c_str(), e.what());
          std::fflush(stdout);
          _exit(1);
        }
        std::fflush(stdout);
        _exit(0);
      }
      int status = 0;
      waitpid(child, &status, 0);
      failed += status != 0;
    }
  return failed != 0;
}
