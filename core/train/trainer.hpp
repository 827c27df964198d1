// Training: the loop over optimizer steps, and what it leaves in the run's folder.
//
//   batch ─▶ step ─▶ [evaluate] ─▶ [report, metrics.jsonl] ─▶ [checkpoint] ─▶ next, or the end
//     ▲ prepared by a helper thread while the step before runs
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "train/report.hpp"

namespace switchyard {

class Session;

struct TrainOptions {
  bool files = true;   // false: nothing is written, and `out` and `resume` stay empty
  std::string out;     // the run's folder; "": runs/STEM-001 (counted up) in the current folder, or that of `resume`
  std::string resume;  // the folder of a run to go on from; "": from the first weights
  std::string trace;   // a file for what the first steps after a warm-up did, beside the plan's pass; "": none
  /// Ends after so many steps of this call, as if asked to stop; the learning rate follows train.steps all the same.
  std::optional<std::int64_t> at_most;
};

struct TrainResult {
  std::string folder;              // of the run; "" without files
  std::int64_t step = 0;           // done in all
  bool stopped = false;            // ended early, by Hooks::stop or `at_most`
  double seconds = 0;              // of this call
  std::optional<double> loss;      // of the last step
  std::optional<double> val_loss;  // measured at the end (not when stopped)
  std::optional<double> val_accuracy;
  std::vector<DevicePeak> peaks;            // planned against measured
  std::string sample_before, sample_after;  // text models: a text of `[generate]` before and after; else ""
};

/// Trains up to train.steps. Errors: SY_E_CONFIG before any step (no [train], a folder that cannot be used, a
/// checkpoint that does not fit the model); SY_E_DATA with step and remedy when the loss is not finite; whatever
/// Pipe::step throws. The last checkpoint stays in place then. [ctl]
TrainResult train(Session& session, const TrainOptions& options, const Hooks& hooks);

}  // namespace switchyard
