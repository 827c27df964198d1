#include <algorithm>
#include <deque>

#include "plan/program.hpp"

namespace switchyard {

namespace {

/// A network of processes with bounded channels: times do not depend on the order in which devices are looked at, nor
/// does where a run with too little room stops.
///
///   device:  take all inputs ──▶ compute ──▶ send all outputs, each when there is room ──▶ next action
class ProgramRunner {
 public:
  ProgramRunner(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                const std::vector<Edge>& edges, const std::vector<StageTimes>& times, bool hand_to_hand = false)
      : programs_(programs),
        stages_(stages),
        edges_(edges),
        times_(times),
        devices_(programs.size()),
        taken_(edges.size()) {
    hand_to_hand_ = hand_to_hand;
    for (const Edge& e : edges) capacity_.push_back(e.capacity);
    run_.actions.resize(programs.size());
    for (std::size_t d = 0; d < programs.size(); ++d) run_.actions[d].reserve(programs[d].size());
    run_.transfers.resize(edges.size());
    group_edges();
    queued_.assign(devices_.size(), false);
    for (std::size_t d = 0; d < devices_.size(); ++d) wake(static_cast<int>(d));
  }

  /// On until every device has ended or waits.
  void run() {
    while (!ready_.empty()) {
      const int d = ready_.front();
      ready_.pop_front();
      queued_[d] = false;
      while (advance(d)) {
      }
    }
  }

  /// Gives one place more to each edge on which a device waits for room; false: there is none that may grow.
  bool widen(int most) {
    bool widened = false;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (is_done(d) || !devices_[d].computed) continue;
      const int e = waits_on(d);
      if (capacity_[e] >= most) continue;
      ++capacity_[e];
      widened = true;
      wake(static_cast<int>(d));
    }
    return widened;
  }
  bool ended() const {
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (!is_done(d)) return false;
    return true;
  }
  int capacity(int edge) const { return capacity_[edge]; }

  ProgramRun result() {
    for (const Device& device : devices_) {
      run_.seconds = std::max(run_.seconds, device.now);
      run_.busy.push_back(device.busy);
    }
    run_.deadlock = who_waits();
    return std::move(run_);
  }

  /// Who waits for what, for at most four devices; empty when all have ended.
  std::string who_waits() const {
    std::string text;
    int waiting = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (!is_done(d) && ++waiting <= 4) text += (text.empty() ? "" : "; ") + why(d);
    if (waiting > 4) text += "; and " + std::to_string(waiting - 4) + " more devices wait";
    return text;
  }

 private:
  struct Device {
    std::size_t action = 0;  // position in the program
    std::size_t edges = 0;   // how many of the action's edges are done
    bool computed = false;   // taken and computed; now sending
    double now = 0, busy = 0;
  };
  /// The edges that an F, and those that a B or I, takes from or sends on.
  struct StageEdges {
    std::vector<int> in[2], out[2];
  };

  void group_edges() {
    of_stage_.resize(stages_.size());
    for (const Edge& e : edges_) {
      of_stage_[e.to].in[e.backward].push_back(e.index);
      of_stage_[e.from].out[e.backward].push_back(e.index);
    }
  }
  const std::vector<int>& edges_of(const Action& a, bool sending) const {
    static const std::vector<int> none;
    if (a.kind == SY_ACT_W || a.kind == SY_ACT_R) return none;
    const StageEdges& e = of_stage_[a.stage];
    return (sending ? e.out : e.in)[a.kind != SY_ACT_F];
  }

  double duration(const Action& a) const {
    const StageTimes& t = times_[a.stage];
    switch (a.kind) {
      case SY_ACT_F:
      case SY_ACT_R:
        return t.forward;
      case SY_ACT_B:
        return t.input + t.weight;
      case SY_ACT_I:
        return t.input;
      case SY_ACT_W:
        return t.weight;
    }
    return 0;
  }

  /// One take, compute or send; false: the device has to wait, or is done.
  bool advance(int d) {
    Device& device = devices_[d];
    if (is_done(d)) return false;
    const Action& a = programs_[d][device.action];
    const std::vector<int>& list = edges_of(a, device.computed);
    for (; device.edges < list.size(); ++device.edges)
      if (!(device.computed ? send(device, list[device.edges], a.micro_batch)
                            : take(device, list[device.edges], a.micro_batch)))
        return false;
    device.edges = 0;
    if (device.computed) {
      device.computed = false;
      ++device.action;
    } else {
      device.computed = true;
      const double begin = device.now;
      device.now += duration(a);
      device.busy += duration(a);
      run_.actions[d].push_back({begin, device.now});
    }
    return true;
  }

  bool take(Device& device, int e, int micro_batch) {
    const auto& sent = run_.transfers[e];
    if (static_cast<int>(sent.size()) <= micro_batch) {
      if (hand_to_hand_) wake(stages_[edges_[e].from].device);
      return false;
    }
    device.now = std::max(device.now, sent[micro_batch].end);
    taken_[e].push_back(device.now);
    wake(stages_[edges_[e].from].device);
    return true;
  }

  bool send(Device& device, int e, int micro_batch) {
    if (hand_to_hand_ && capacity_[e] > 0 && !is_taking(e, micro_batch)) return false;
    if (capacity_[e] > 0 && micro_batch >= capacity_[e]) {
      const int free_after = micro_batch - capacity_[e];  // there is a free buffer once that one was taken
      if (static_cast<int>(taken_[e].size()) <= free_after) return false;
      device.now = std::max(device.now, taken_[e][free_after]);
    }
    run_.transfers[e].push_back({device.now, device.now + (capacity_[e] > 0 ? edges_[e].seconds : 0)});
    wake(stages_[edges_[e].to].device);
    return true;
  }

  /// The receiver stands before this tensor.
  bool is_taking(int e, int micro_batch) const {
    const auto d = static_cast<std::size_t>(stages_[edges_[e].to].device);
    const Device& device = devices_[d];
    return !is_done(d) && !device.computed && device.edges < edges_of(programs_[d][device.action], false).size() &&
           waits_on(d) == e && programs_[d][device.action].micro_batch == micro_batch;
  }

  void wake(int d) {
    if (!queued_[d]) queued_[d] = true, ready_.push_back(d);
  }

  bool is_done(std::size_t d) const { return devices_[d].action >= programs_[d].size(); }
  int waits_on(std::size_t d) const {
    const Device& device = devices_[d];
    return edges_of(programs_[d][device.action], device.computed)[device.edges];
  }
  std::string why(std::size_t d) const {
    const Edge& e = edges_[waits_on(d)];
    return "device " + std::to_string(d) + " waits at " + action_text(programs_[d][devices_[d].action]) +
           (devices_[d].computed ? " for room on the edge to stage " + std::to_string(e.to)
                                 : " for a tensor from stage " + std::to_string(e.from)) +
           " (its action " + std::to_string(devices_[d].action) + ")";
  }

  const std::vector<std::vector<Action>>& programs_;
  const std::vector<Stage>& stages_;
  const std::vector<Edge>& edges_;
  const std::vector<StageTimes>& times_;
  std::vector<Device> devices_;
  std::vector<StageEdges> of_stage_;
  std::vector<int> capacity_;
  std::vector<std::vector<double>> taken_;  // per edge: when each tensor was
  ProgramRun run_;
  bool hand_to_hand_ = false;  // a send ends when the receiver takes it: edges have no room
  std::deque<int> ready_;
  std::vector<bool> queued_;
};

}  // namespace

ProgramRun run_programs(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                        const std::vector<Edge>& edges, const std::vector<StageTimes>& times) {
  ProgramRunner runner(programs, stages, edges, times);
  runner.run();
  return runner.result();
}

void choose_capacities(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                       std::vector<Edge>& edges, int micro_batches) {
  const std::vector<StageTimes> at_once(stages.size());
  ProgramRunner runner(programs, stages, edges, at_once);
  for (runner.run(); !runner.ended(); runner.run())
    if (!runner.widen(micro_batches)) throw Error(SY_E_CONFIG, "the schedule cannot end: " + runner.who_waits());
  for (Edge& e : edges) e.capacity = runner.capacity(e.index);
}

std::string blocking_deadlock(const std::vector<std::vector<Action>>& programs, const std::vector<Stage>& stages,
                              const std::vector<Edge>& edges) {
  const std::vector<StageTimes> at_once(stages.size());
  ProgramRunner runner(programs, stages, edges, at_once, true);
  runner.run();
  return runner.who_waits();
}

}  // namespace switchyard
