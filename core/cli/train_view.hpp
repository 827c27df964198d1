// What a person sees of a training run, on stderr.
#pragma once

#include <string>

#include "progress.hpp"
#include "switchyard/switchyard.h"

namespace cli {

class TrainView {
 public:
  /// `program`: how it was called, for what to type next.
  explicit TrainView(std::string program);

  void plan(const std::string& plan_json);
  void step(const sy_report& report);    // the bar
  void report(const sy_report& report);  // a line
  void event(const std::string& line);
  /// The end of a run: sy_train's result.
  void end(const std::string& result_json, const std::string& config);
  /// Before something else is printed.
  void finish() { view_.finish(); }

 private:
  std::string program_;
  switchyard::ProgressView view_;
};

}  // namespace cli
