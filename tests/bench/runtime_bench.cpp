// What the runtime costs, as ratios within one run:
//   overhead   one device, one micro-batch, against the same layers called directly       (target: below 1.02)
//   split      two devices of one thread against one of two threads, equal micro-batches    (target: at least 0.95)
//
//   build/tests/bench/runtime-bench [ROUNDS]
// Both sides of a ratio alternate; each is the median of the rounds.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "../core/engine/plain_model.hpp"
#include "book_gpt.hpp"
#include "direct.hpp"
#include "measure/stopwatch.hpp"

namespace {

using namespace plain;

const std::string gpt = bench::book_gpt + std::string(R"(
[placement]
policy = "contiguous"
[schedule]
type = "1f1b"
[train]
batch = 16
optimizer = { type = "adamw", lr = 1e-3 }
)");

template <class Body>
double seconds(Body&& body) {
  const auto start = std::chrono::steady_clock::now();
  body();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Median seconds of both, in turn; the first round only warms up.
template <class A, class B>
std::pair<double, double> paired(int rounds, A&& a, B&& b) {
  std::vector<double> of_a, of_b;
  for (int r = 0; r <= rounds; ++r) {
    const double first = seconds([&] { a(r + 1); }), second = seconds([&] { b(r + 1); });
    if (r > 0) of_a.push_back(first), of_b.push_back(second);
  }
  return {median(of_a), median(of_b)};
}

/// One thread: two teams of threads in one process would wait for each other's spinning, which is no cost of the
/// runtime.
void overhead(int rounds) {
  const std::vector<std::string> sets = {"devices.use=[\"cpu:0\"]", "devices.threads=1", "schedule.micro_batches=1"};
  const Config config = parse_config(gpt, "bench.toml", sets);
  auto pipe = build(config);
  BatchSpec spec;
  spec.input_shape = {128}, spec.input_dtype = dtype::i64;
  bench::Direct direct(config, registry(), Model::create(config, registry(), spec, 16),
                       resolve_machine(config, registry()).devices[0]);
  const Batch batch = bench::tokens(16);
  const auto [ours, theirs] = paired(
      rounds, [&](int r) { pipe->step(batch, static_cast<uint64_t>(r), 1e-3); }, [&](int r) { direct.step(batch, r); });
  std::printf("overhead   step %.1f ms, same layers called directly %.1f ms: %.3f\n", ours * 1e3, theirs * 1e3,
              ours / theirs);
}

void split(int rounds, int micro_batches) {
  const std::string m = "schedule.micro_batches=" + std::to_string(micro_batches);
  auto two = build(gpt, {"devices.use=[\"cpu:0\", \"cpu:1\"]", "devices.threads=1", m});
  auto one = build(gpt, {"devices.use=[\"cpu:0\"]", "devices.threads=2", m});
  const Batch batch = bench::tokens(16);
  const auto [a, b] = paired(
      rounds, [&](int r) { two->step(batch, static_cast<uint64_t>(r), 1e-3); },
      [&](int r) { one->step(batch, static_cast<uint64_t>(r), 1e-3); });
  std::printf(
      "split      %d micro-batches: two devices of one thread %.1f ms, one of two threads %.1f ms: %.3f of its speed\n",
      micro_batches, a * 1e3, b * 1e3, b / a);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::max(1, std::atoi(argv[1])) : 15;
  overhead(rounds);
  split(rounds, 8);
  split(rounds, 16);
}
