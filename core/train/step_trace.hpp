// The trace of a run: the plan's pass beside the first steps as they were measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/pipe.hpp"
#include "plan/trace.hpp"

namespace switchyard {

class Session;

/// One call of train(). The first 2 steps warm up (fewer where no step would be left), the next 5 are traced, fewer
/// once they have 100,000 actions. The plan's pass begins with the first traced one.
class StepTrace {
 public:
  static constexpr std::int64_t warm_up = 2, most_steps = 5;
  static constexpr std::size_t most_actions = 100000;

  /// Writes the plan's pass alone, so that a file that cannot be written is found before anything runs. Errors:
  /// file_error. `session` is lent.
  StepTrace(std::string path, Session& session);
  /// left: how many steps there will be, with the one that begins.
  void before_step(std::int64_t left);
  void after_step(std::int64_t step);
  /// Writes what was traced. Once is enough.
  void finish();

 private:
  void write() const;

  std::string path_;
  Session& session_;
  enum class State { waits, records, done } state_ = State::waits;
  std::optional<std::int64_t> skip_;  // steps that are still to warm up
  std::int64_t left_ = 0, traced_ = 0;
  std::size_t actions_ = 0;
  std::vector<std::pair<TracedPass, RecordedPass>> passes_;
};

}  // namespace switchyard
