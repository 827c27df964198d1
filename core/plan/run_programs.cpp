#include <algorithm>
#include <deque>

#include "plan/program.hpp"

namespace switchyard {

namespace {

/// A network of processes with bounded channels: times do not depend on the order in which devices are looked at.
///
///   device:  take all inputs ──▶ compute ──▶ send all outputs, each when there is room ──▶ next action
class ProgramRunner {
 public:
  ProgramRunner(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                const std::vector<Edge>& edges, const std::vector<StageTimes>& times,
                const std::function<double(const Edge&)>& transfer)
      : programs_(programs),
        stages_(stages),
        edges_(edges),
        times_(times),
        devices_(programs.size()),
        sent_(edges.size()),
        taken_(edges.size()),
        into_(stages.size()),
        out_of_(stages.size()) {
    for (const Edge& e : edges) {
      into_[e.to].push_back(e.index);
      out_of_[e.from].push_back(e.index);
      transfer_.push_back(e.capacity == 0 ? 0.0 : transfer(e));
    }
  }

  ProgramRun run() {
    std::vector<bool> queued(devices_.size(), true);
    for (std::size_t d = 0; d < devices_.size(); ++d) ready_.push_back(static_cast<int>(d));
    while (!ready_.empty()) {
      const int d = ready_.front();
      ready_.pop_front();
      queued[d] = false;
      woken_.clear();
      while (advance(d)) {
      }
      for (const int other : woken_)
        if (!queued[other]) queued[other] = true, ready_.push_back(other);
    }
    return result();
  }

 private:
  struct Device {
    std::size_t action = 0;  // position in the program
    std::size_t edges = 0;   // how many of the action's edges are done
    bool computed = false;   // taken and computed; now sending
    double now = 0, busy = 0;
  };

  static bool carries(const Edge& e, uint32_t kind) {
    return e.backward ? kind == SY_ACT_B || kind == SY_ACT_I : kind == SY_ACT_F;
  }
  double duration(const Action& a) const {
    const StageTimes& t = times_[a.stage];
    switch (a.kind) {
      case SY_ACT_F:
        return t.forward;
      case SY_ACT_B:
        return t.input + t.weight;
      case SY_ACT_I:
        return t.input;
      case SY_ACT_W:
        return t.weight;
      case SY_ACT_R:
        return t.forward;
    }
    return 0;
  }

  /// One take, compute or send; false: the device has to wait, or is done.
  bool advance(int d) {
    Device& device = devices_[d];
    if (device.action >= programs_[d].size()) return false;
    const Action& a = programs_[d][device.action];
    const std::vector<int>& list = device.computed ? out_of_[a.stage] : into_[a.stage];
    for (; device.edges < list.size(); ++device.edges) {
      const int e = list[device.edges];
      if (!carries(edges_[e], a.kind)) continue;
      if (!(device.computed ? send(device, e, a.micro_batch) : take(device, e, a.micro_batch))) return false;
    }
    device.edges = 0;
    if (device.computed) {
      device.computed = false;
      ++device.action;
    } else {
      device.computed = true;
      device.now += duration(a);
      device.busy += duration(a);
    }
    return true;
  }

  bool take(Device& device, int e, int micro_batch) {
    if (static_cast<int>(sent_[e].size()) <= micro_batch) return false;
    device.now = std::max(device.now, sent_[e][micro_batch] + transfer_[e]);
    taken_[e].push_back(device.now);
    woken_.push_back(stages_[edges_[e].from].device);
    return true;
  }

  bool send(Device& device, int e, int micro_batch) {
    const int capacity = edges_[e].capacity;
    if (capacity > 0 && micro_batch >= capacity) {
      const int free_after = micro_batch - capacity;  // this one's slot is free once that one was taken
      if (static_cast<int>(taken_[e].size()) <= free_after) return false;
      device.now = std::max(device.now, taken_[e][free_after]);
    }
    sent_[e].push_back(device.now);
    woken_.push_back(stages_[edges_[e].to].device);
    return true;
  }

  ProgramRun result() {
    ProgramRun run;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const Device& device = devices_[d];
      run.seconds = std::max(run.seconds, device.now);
      run.busy.push_back(device.busy);
      if (device.action >= programs_[d].size()) continue;
      const Action& a = programs_[d][device.action];
      const int e = (device.computed ? out_of_ : into_)[a.stage][device.edges];
      if (device.computed) run.blocked.push_back(e);
      run.deadlock += (run.deadlock.empty() ? "" : "; ") + std::string("device ") + std::to_string(d) + " waits at " +
                      action_text(a) +
                      (device.computed ? " for room on the edge to stage " + std::to_string(edges_[e].to)
                                       : " for a tensor from stage " + std::to_string(edges_[e].from));
    }
    return run;
  }

  const std::vector<std::vector<Action>>& programs_;
  const std::vector<Stage>& stages_;
  const std::vector<Edge>& edges_;
  const std::vector<StageTimes>& times_;
  std::vector<Device> devices_;
  std::vector<std::vector<double>> sent_, taken_;  // per edge, per micro-batch: when
  std::vector<std::vector<int>> into_, out_of_;    // edges of each stage
  std::vector<double> transfer_;
  std::deque<int> ready_;
  std::vector<int> woken_;
};

}  // namespace

ProgramRun run_programs(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                        const std::vector<Edge>& edges, const std::vector<StageTimes>& times,
                        const std::function<double(const Edge&)>& transfer) {
  return ProgramRunner(programs, stages, edges, times, transfer).run();
}

void choose_capacities(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                       std::vector<Edge>& edges, int micro_batches) {
  const std::vector<StageTimes> times(stages.size());
  const auto at_once = [](const Edge&) { return 0.0; };
  for (;;) {
    const ProgramRun run = run_programs(programs, stages, edges, times, at_once);
    if (run.deadlock.empty()) return;
    bool widened = false;
    for (const int e : run.blocked)
      if (edges[e].capacity < micro_batches) ++edges[e].capacity, widened = true;
    if (!widened) throw Error(SY_E_CONFIG, "the schedule cannot end: " + run.deadlock);
  }
}

}  // namespace switchyard
