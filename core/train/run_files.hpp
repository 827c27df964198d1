// What a training run leaves in its folder, besides checkpoints.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "report/metrics.hpp"
#include "store/run_folder.hpp"

namespace switchyard {

/// config.toml, plan.json, metrics.jsonl, loss.svg, sample.txt. One thread at a time.
class RunFiles {
 public:
  /// After `step` steps of the run (0: it begins); reports of later ones, from after the last checkpoint, are dropped.
  /// `earlier`: the run that this one goes on from in a folder of its own; its reports are taken over. "": none.
  RunFiles(const RunFolder& folder, const Config& config, const std::string& plan_json, std::int64_t step,
           const std::string& earlier);

  void write(const Metrics& metrics);
  /// The loss curve up to now.
  void draw() const;
  /// A text of the model after `step` steps: appended to sample.txt, which begins anew at step 0.
  void sample(std::int64_t step, const std::string& prompt, const std::string& text);

  const RunFolder& folder() const { return folder_; }
  /// Seconds of training in the reports so far.
  double seconds() const;

 private:
  RunFolder folder_;
  std::string title_;
  std::vector<Metrics> reports_;
  std::optional<MetricsFile> metrics_;
};

}  // namespace switchyard
