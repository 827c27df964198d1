// The folder that a training run writes into.
#pragma once

#include <string>

namespace switchyard {

class RunFolder {
 public:
  /// `--out DIR`: made where missing. SY_E_CONFIG: it has a checkpoint (the text names --resume), it is a file, or it
  /// holds a config.toml that no run wrote. Leftovers of a run that ended before its first checkpoint are reused.
  static RunFolder at(const std::string& folder);
  /// `runs/STEM-001`, counted up from the highest that is there, STEM being `config_path` without folder and extension;
  /// `runs/latest` then points to it. `runs` is the folder that holds them.
  static RunFolder next(const std::string& config_path, const std::string& runs = "runs");
  /// `--resume DIR`, or a RUN argument: SY_E_CONFIG if it is no folder or has no checkpoint.
  static RunFolder existing(const std::string& folder);
  /// Does a folder look like a run (it has a checkpoint)?
  static bool is_run(const std::string& folder);

  const std::string& path() const { return path_; }
  std::string config() const { return path_ + "/config.toml"; }
  std::string plan() const { return path_ + "/plan.json"; }
  std::string metrics() const { return path_ + "/metrics.jsonl"; }
  std::string loss_curve() const { return path_ + "/loss.svg"; }
  std::string sample() const { return path_ + "/sample.txt"; }
  /// For reading; checkpoints are written by save_checkpoint(path(), ...).
  std::string model() const { return path_ + "/checkpoint/model.safetensors"; }
  std::string optimizer() const { return path_ + "/checkpoint/optimizer.safetensors"; }

 private:
  explicit RunFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace switchyard
