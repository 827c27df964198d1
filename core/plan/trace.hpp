// Timelines as trace events, for ui.perfetto.dev and chrome://tracing.
//
//   process "plan"      a thread for each device (its actions), one for each pair of devices (its transfers), a counter
//   of bytes for each process "measured"  the same, with the same names
//
// Format: the JSON object form of the Trace Event Format, as https://perfetto.dev/docs/getting-started/other-formats
// reads it: complete events "X", counters "C" and names of processes and threads "M"; times in microseconds, here with
// three digits behind the point.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "model/model.hpp"
#include "plan/plan.hpp"
#include "plan/timeline.hpp"

namespace switchyard {

/// Which pass of which optimizer step.
struct TracedPass {
  int64_t step = 0;  // counts from 1
  int pass = 0;      // within the step
};

class Trace {
 public:
  enum class Process { plan = 1, measured = 2 };

  /// Both are lent.
  Trace(const Plan& plan, const Model& model);
  /// A pass that began at `begin`, in seconds; not before the end of one that was added to the same process.
  void add(Process process, const Timeline& timeline, double begin, const std::optional<TracedPass>& pass = {});
  std::size_t events() const { return events_; }
  std::string json() const;

 private:
  struct Thread {
    int id = 0;
    int64_t free_at = 0;  // nanoseconds: the end of its last event
  };
  void name_process(Process process);
  void name_thread(Process process, int id, const std::string& name);
  void add_actions(Process process, const Timeline& timeline, double begin, const std::string& pass);
  void add_transfers(Process process, const Timeline& timeline, double begin, const std::string& pass);
  void add_memory(Process process, const Timeline& timeline, double begin);
  int transfer_thread(Process process, int from, int to, int64_t begin, int64_t end);
  void event(const std::string& text);
  const std::string& device(int d) const { return plan_.devices[static_cast<std::size_t>(d)].name; }

  const Plan& plan_;
  std::vector<std::string> stage_args_, edge_names_;
  std::map<std::tuple<Process, int, int>, std::vector<Thread>> transfer_threads_;  // of one pair: as many as overlap
  std::map<Process, int> threads_;                                                 // how many have an id
  std::string text_;
  std::size_t events_ = 0;
};

/// The plan's own pass as a file.
std::string plan_trace(const Plan& plan, const Model& model);

}  // namespace switchyard
