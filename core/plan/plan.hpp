// The plan: which layer sits where, what each device does in which order, what travels between them, and what it will
// take. Everything up to here is computed without touching a device.
//
//   model + devices ──▶ policy ──▶ stages ──▶ schedule ──▶ programs ──▶ edges, capacities ──▶ memory, time
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/micro_batches.hpp"
#include "model/model.hpp"
#include "plan/device.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

/// A run of neighbouring layers on one device.
struct Stage {
  int index = 0;
  int device = 0;
  int first = 0;  // layers first .. last
  int last = 0;
};

/// One entry of a device's program.
struct Action {
  uint32_t kind = 0;  // SY_ACT_*
  int stage = 0;
  int micro_batch = 0;  // within the pass
  bool operator==(const Action&) const = default;
};
std::string action_text(const Action& action);  // "F of stage 1, micro-batch 2"
const char* kind_letter(uint32_t kind);         // "F"; "?" for what is none

/// A hand-over between two stages: an output going forward, or the gradient of one use of it coming back.
struct Edge {
  int index = 0;
  bool backward = false;
  int layer = 0;  // whose output it is
  int output = 0;
  Use use;       // backward: the use whose gradient travels
  int from = 0;  // stages
  int to = 0;
  uint64_t bytes = 0;  // of one (largest) micro-batch
  int capacity = 1;    // tensors sent and not yet taken; 0: both ends on one device, where it does not matter
  double seconds = 0;  // that one tensor travels; 0 within a device
};

/// Seconds of one micro-batch in one layer or one stage.
struct StageTimes {
  double forward = 0, input = 0, weight = 0;
};

/// What one (largest) micro-batch costs in one layer.
struct LayerCost {
  double flops_forward = 0, flops_input = 0, flops_weight = 0;
  uint64_t saved = 0;      // from forward to backward, kept inputs and outputs included; two layers may keep one tensor
  uint64_t workspace = 0;  // more than that at the worst moment of forward or backward
  StageTimes times;        // on its device, recomputing included
};

/// Bytes of one stage and one micro-batch, beyond weights and the like.
struct StageMemory {
  uint64_t saved = 0;          // from the end of F to B
  uint64_t forward_peak = 0;   // inside F, what it leaves saved included
  uint64_t backward_peak = 0;  // inside B, what F left saved included
  uint64_t input_peak = 0;     // inside I, likewise
  uint64_t held = 0;           // from the end of I to W
};

/// Bytes of one micro-batch that a stage takes from and hands to other stages of its device: they wait there in
/// between.
struct HandedOn {
  uint64_t in[2] = {}, out[2] = {};  // of F, of B
};

/// Bytes of one device at the worst moment, by what they are for.
struct DeviceMemory {
  uint64_t weights = 0;  // values that calls see, buffers, accumulators, copies of tied weights
  uint64_t masters = 0;  // fp32 copies behind bf16 and fp16 weights
  uint64_t gradients = 0;
  uint64_t states = 0;       // of the optimizer
  uint64_t edges = 0;        // buffers of what other devices send, and the last that an asynchronous device has sent
  uint64_t activations = 0;  // saved, live and workspace at the worst moment
  uint64_t peak() const { return fixed() + activations; }
  uint64_t fixed() const { return weights + masters + gradients + states + edges; }
};

/// What the simulation of one optimizer step says.
struct Prediction {
  double step_s = 0;
  double update_s = 0;       // of it, behind the last backward: norm and optimizer step of the slowest device
  std::vector<double> idle;  // share of the step, per device
};

/// Where the layers lie and what follows from it: what policies ask about, and the heart of a plan.
struct Layout {
  std::vector<Stage> stages;
  std::vector<int> stage_of_layer;
  std::vector<bool> recompute;             // per layer
  std::vector<StageTimes> times;           // per stage
  std::vector<StageMemory> stage_memory;   // per stage
  std::vector<std::vector<Action>> train;  // per device: one pass
  std::vector<Edge> edges;                 // of training; the forward ones also serve evaluation
  std::vector<HandedOn> handed_on;         // per stage
  std::vector<DeviceMemory> memory;        // per device
  Prediction prediction;
  int misfit_layer = -1;      // the first layer that does not fit, or -1
  uint64_t misfit_bytes = 0;  // by how many bytes
  int device_of_layer(int layer) const { return stages[stage_of_layer[layer]].device; }
};

/// One way to lay out a configuration: what "auto" may choose.
struct Combination {
  std::string policy, schedule;
  int64_t micro_batches = 1;
  RecomputeConfig recompute;
};

/// What came of one combination.
struct Trial {
  Combination what;
  bool fits = false;
  double step_s = 0;      // 0: it could not be simulated
  bool measured = false;  // from times that were measured on all of its devices
  double idle = 0;        // share of the step, mean of the devices with layers
  int fullest = 0;        // the device with the largest share of its budget, without budgets with the largest peak
  std::string device;     // its name
  uint64_t peak = 0;      // bytes on it
  uint64_t budget = no_budget;
  uint64_t missing = 0;  // bytes, where it does not fit
  std::string why_not;   // "" where it fits
};

struct Plan : Layout {
  std::string machine, about;  // of devices.machine; empty: the plan is for this one
  std::vector<PlanDevice> devices;
  Links links;  // between devices
  std::vector<LayerCost> layer_costs;
  std::string policy, schedule, why;
  bool closest = false;  // the policy looked for what fits, found nothing, and this comes closest
  std::vector<std::string> warnings, notes;
  std::vector<Trial> tried;  // where "auto" chose: all, this one first
  int micro_batches = 1;
  int accumulate = 1;
  int64_t batch = 0;                     // samples of one optimizer step
  std::vector<RowRange> rows;            // of each micro-batch of one pass, within the pass
  std::vector<std::string> state_names;  // of the optimizer
  /// What its times rest on: the least known figure of the devices with layers and of the links between them.
  Basis basis() const;
  int64_t largest_micro_batch() const { return rows.empty() ? 0 : rows[0].count; }
};

/// Elements that a parameter takes in flat storage: a multiple of 128, so that each starts at 256 bytes in every type.
inline uint64_t padded(int64_t count) { return (static_cast<uint64_t>(count) + 127) / 128 * 128; }

/// Rows of one pass and of its micro-batches; throws Error(SY_E_CONFIG) when they do not come out even enough: fewer
/// samples than micro-batches, or a batch that the passes do not divide.
std::vector<RowRange> micro_batch_rows(const Config& config);

/// Devices, policy, schedule, edges, memory, time. Throws Error(SY_E_CONFIG) for wrong answers of plugins,
/// SY_E_INFEASIBLE when a budget is exceeded.
Plan make_plan(const Config& config, Registry& registry, Model& model);
/// The same with everything on the plan's first device: what `compare` holds a plan against.
Plan make_single_device_plan(const Config& config, Registry& registry, Model& model);

/// The readable table, with warnings and the reason.
std::string plan_text(const Plan& plan, const Model& model);
/// One JSON object (docs in core/plan/README.md); devices carry replica and shard indices, both 0.
std::string plan_json(const Plan& plan, const Model& model);
/// A page that needs nothing else: the JSON, its timeline, and a script that draws them. Beyond 50,000 actions a share
/// of the devices is drawn, and the page says so.
std::string plan_html(const Plan& plan, const Model& model, const std::string& title);

}  // namespace switchyard
