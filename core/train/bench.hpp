// Steps of a configuration without its data, timed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "train/session.hpp"

namespace switchyard {

struct BenchOptions {
  int64_t steps = 10;     // timed, at least 1
  int64_t warm_up = 3;    // before them
  double peak_flops = 0;  // per second that a device can do in the run's type; 0: unknown
};

struct BenchDevice {
  std::string name;
  uint64_t planned = 0, measured = 0;  // peak bytes
  double idle = 0;  // share of one recorded step's passes behind the timed ones; 0 where nothing lies
};

struct BenchResult {
  std::vector<double> seconds;  // of each timed step
  int64_t samples = 0;          // of one step
  int64_t tokens = 0;           // the same in tokens; 0: no token model
  double flops = 0;             // of one step by the layers' formulas, recomputing not counted
  double peak_flops = 0;        // of all devices that have layers; 0: unknown
  std::vector<BenchDevice> devices;

  double median_s() const;
  double mfu() const;  // flops / (median_s * peak_flops); 0: unknown
};

/// The session's purpose is `steps`. Batches are random; weights change and are not kept. Errors: as of a training
/// step. [ctl]
BenchResult bench(Session& session, const BenchOptions& options);

/// A few lines for people.
std::string bench_text(const BenchResult& result);
/// {"seconds": [...], "median_s", "samples_per_s", "tokens_per_s", "flops", "mfu", "devices": [{"name", "planned",
/// "measured", "idle"}]}; absent where it does not apply.
std::string bench_json(const BenchResult& result);

}  // namespace switchyard
