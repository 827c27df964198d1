// What a run tells whoever started it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/pipe.hpp"

namespace switchyard {

/// The state of a run after a step.
struct Report {
  std::int64_t step = 0;   // counts from 1
  std::int64_t steps = 0;  // of the whole run
  double loss = 0;         // before the update
  double grad_norm = 0;
  double lr = 0;
  bool skipped = false;              // fp16: a gradient was not finite, nothing changed but the loss scale
  std::optional<double> loss_scale;  // fp16 only
  std::optional<double> accuracy;    // of the step's batch, where targets are classes
  std::optional<double> val_loss;    // where measured after this step
  std::optional<double> val_accuracy;
  std::int64_t tokens = 0;        // or samples, learnt from since step 1
  double tokens_per_s = 0;        // since the last report; evaluation and checkpoints do not count
  bool counts_tokens = true;      // false: `tokens` are samples
  double seconds = 0;             // since training began, also before a resume
  double seconds_left = 0;        // estimate
  std::vector<DevicePeak> peaks;  // in the order of the plan's devices
  /// Share of the pipeline's passes since the last report, by device, in which it was not inside of an action. Nothing
  /// for a GPU, whose actions are only enqueued.
  std::vector<std::optional<double>> idle;
};

/// Called on the thread that called the session; a throw ends the call. Empty functions are not called.
struct Hooks {
  std::function<void(const Report&)> report;      // at train.report_every, when val_loss was measured, at the end
  std::function<void(const Report&)> tick;        // after every step, before `report`; no val_loss yet
  std::function<void(const std::string&)> event;  // one line: "checkpoint of step 200: runs/a-001/checkpoint"
  const std::atomic<bool>* stop = nullptr;        // asked after each step; lent
};

}  // namespace switchyard
