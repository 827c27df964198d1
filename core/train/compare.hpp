// "Placement never changes the result", as a check: some steps on a plan and on one device, held side by side.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "config/config.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

/// The first thing that differs. Values are compared bit for bit (two NaN are equal).
struct Difference {
  std::int64_t step = 0;
  std::string what;          // "loss", "loss of micro-batch", "gradient", "gradient norm", "skipped", "value", "state"
  std::string name;          // of the parameter, "" for the others; "h.0.attn.qkv.weight", for a state "... exp_avg"
  std::int64_t element = 0;  // row-major, or the micro-batch
  double plan = 0;
  double one_device = 0;
};

struct Comparison {
  std::int64_t steps = 0;    // compared, the one with a difference included
  std::int64_t numbers = 0;  // compared
  std::string devices;       // "cpu:0, cpu:1"
  std::string one_device;    // "cpu:0"
  std::optional<Difference> difference;
  bool equal() const { return !difference; }
};

/// Trains `steps` steps on the configured plan and on its first device alone, with equal threads per device, and
/// compares after each step loss, losses of micro-batches, norm and every gradient, after the last one every value and
/// optimizer state. Weights as for training; samples of [data], or random ids and numbers where there is none. Both
/// copies of the model live at once. [ctl]
Comparison compare(const Config& config, Registry& registry, std::int64_t steps);

/// "3 steps equal one device bit for bit (cpu:0, cpu:1 against cpu:0; 1204 numbers)", or "step 2: gradient of
/// 'h.1.mlp.up.weight', element 17: 0.12300001 on cpu:0, cpu:1, 0.123 on cpu:0 alone".
std::string comparison_text(const Comparison& comparison);
/// {"equal":true,"steps":3,"numbers":1204,"devices":"cpu:0, cpu:1","one_device":"cpu:0"}, and where they differ
/// "difference":{"step":2,"what":"gradient","name":"h.1.mlp.up.weight","element":17,"plan":0.1,"on_one_device":0.2}.
std::string comparison_json(const Comparison& comparison);

}  // namespace switchyard
