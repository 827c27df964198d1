// Carries out lists of actions with times, to check schedules. A device holds on to an output until it finds room on
// the edge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "support/fake_host.hpp"

namespace simulation {

struct Action {
  uint32_t kind;
  int32_t stage;
  int32_t micro_batch;
  bool operator==(const Action&) const = default;
};
using Lists = std::vector<std::vector<Action>>;

struct Pipe {
  std::vector<int32_t> device_of_stage;
  uint32_t devices = 0;
  uint32_t micro_batches = 0;
  std::vector<double> f, i, w;  // per stage
  bool forward_only = false;
  int64_t capacity = INT64_MAX;  // tensors between stages on two devices, sent and not yet taken
  std::vector<uint8_t> splits;   // per stage; empty: all do
};

/// p stages on as many devices, F = I = W = 1.
inline Pipe straight(uint32_t p, uint32_t m) {
  Pipe pipe;
  pipe.devices = p;
  pipe.micro_batches = m;
  pipe.f = pipe.i = pipe.w = std::vector<double>(p, 1);
  for (uint32_t s = 0; s < p; ++s) pipe.device_of_stage.push_back(static_cast<int32_t>(s));
  return pipe;
}

inline Lists plan(const std::string& name, const Pipe& pipe) {
  const auto& api =
      fake::table<sy_schedule_api>(fake::plugin("plugins/sy-schedule-" + name + ".so"), SY_KIND_SCHEDULE, name);
  const sy_config options = fake::config(api, {});
  sy_schedule* schedule = nullptr;
  fake::must([&](sy_error** e) { return api.create(fake::host(), &options, &schedule, e); });
  Lists lists(pipe.devices);
  const std::vector<uint8_t> all(pipe.device_of_stage.size(), 1);
  sy_schedule_in in{};
  in.size = sizeof in;
  in.n_stages = static_cast<uint32_t>(pipe.device_of_stage.size());
  in.n_devices = pipe.devices;
  in.micro_batches = pipe.micro_batches;
  in.device_of_stage = pipe.device_of_stage.data();
  in.cost_f = pipe.f.data(), in.cost_i = pipe.i.data(), in.cost_w = pipe.w.data();
  in.splits = pipe.splits.empty() ? all.data() : pipe.splits.data();
  in.forward_only = pipe.forward_only;
  in.self = &lists;
  in.emit = [](void* self, int32_t device, uint32_t kind, int32_t stage, int32_t micro_batch, sy_error**) {
    static_cast<Lists*>(self)->at(static_cast<std::size_t>(device)).push_back({kind, stage, micro_batch});
    return sy_rc{SY_OK};
  };
  try {
    fake::must([&](sy_error** e) { return api.plan(schedule, &in, e); });
  } catch (...) {
    api.destroy(schedule);
    throw;
  }
  api.destroy(schedule);
  return lists;
}

struct Outcome {
  double seconds = 0;                   // until the last action has ended
  double idle = 0;                      // share of all devices' time
  std::vector<int64_t> most_in_flight;  // per stage: micro-batches between the start of F and the end of B or W
  std::vector<int64_t> most_kept;       // per device: the same, over all of its stages
};

/// Throws where the lists cannot run to their end, miss or double an action, or break the order of micro-batches.
///
///   device:  wait for the input ──▶ compute ──▶ wait for room on the edge ──▶ next action
///
/// The times do not depend on the order in which devices are looked at.
class Run {
 public:
  Run(const Pipe& pipe, const Lists& lists)
      : pipe_(pipe), lists_(lists), n_(pipe.device_of_stage.size()), devices_(lists.size()), stages_(n_) {
    result_.most_in_flight.assign(n_, 0);
    result_.most_kept.assign(lists.size(), 0);
  }

  Outcome operator()() {
    for (bool moved = true; moved;) {
      moved = false;
      for (std::size_t d = 0; d < devices_.size(); ++d)
        while (advance(d)) moved = true;
    }
    double busy = 0;
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      if (devices_[d].next < lists_[d].size()) throw std::logic_error("device " + std::to_string(d) + " is locked");
      result_.seconds = std::max(result_.seconds, devices_[d].now);
      busy += devices_[d].busy;
    }
    check_complete();
    result_.idle = 1 - busy / (result_.seconds * static_cast<double>(lists_.size()));
    return result_;
  }

 private:
  struct Device {
    std::size_t next = 0;
    bool computed = false;  // and waits for room
    double now = 0, busy = 0;
    int64_t kept = 0;
  };
  /// When a stage took the input of a micro-batch and gave its output, in order; "back" is B or I.
  struct Stage {
    std::vector<double> forward_taken, forward_given, back_taken, back_given;
    int64_t whole = 0, weights = 0, in_flight = 0;
  };

  bool advance(std::size_t d) {
    Device& device = devices_[d];
    if (device.next == lists_[d].size()) return false;
    const Action& a = lists_[d][device.next];
    if (!device.computed && !compute(device, d, a)) return false;
    device.computed = true;
    if (!give(device, a)) return false;
    device.computed = false;
    ++device.next;
    return true;
  }

  bool compute(Device& device, std::size_t d, const Action& a) {
    const auto s = static_cast<std::size_t>(a.stage), i = static_cast<std::size_t>(a.micro_batch);
    if (pipe_.device_of_stage.at(s) != static_cast<int32_t>(d)) throw std::logic_error("stage on another device");
    Stage& stage = stages_[s];
    double time = pipe_.w[s];
    if (a.kind == SY_ACT_F) {
      expect_next(stage.forward_taken.size(), i);
      if (s > 0 && !take(device, stages_[s - 1].forward_given, i)) return false;
      stage.forward_taken.push_back(device.now);
      time = pipe_.f[s];
      result_.most_in_flight[s] = std::max(result_.most_in_flight[s], ++stage.in_flight);
      result_.most_kept[d] = std::max(result_.most_kept[d], ++device.kept);
    } else if (a.kind == SY_ACT_W) {
      expect_next(static_cast<std::size_t>(stage.weights++), i);
      if (stage.back_given.size() <= i) throw std::logic_error("W before its I");
    } else {
      expect_next(stage.back_taken.size(), i);
      if (stage.forward_given.size() <= i) throw std::logic_error("a backward before its forward");
      if (s + 1 < n_ && !take(device, stages_[s + 1].back_given, i)) return false;
      stage.back_taken.push_back(device.now);
      stage.whole += a.kind == SY_ACT_B;
      time = pipe_.i[s] + (a.kind == SY_ACT_B ? pipe_.w[s] : 0);
    }
    device.now += time;
    device.busy += time;
    if (a.kind == SY_ACT_B || a.kind == SY_ACT_W) --stage.in_flight, --device.kept;
    return true;
  }
  static void expect_next(std::size_t next, std::size_t micro_batch) {
    if (next != micro_batch) throw std::logic_error("micro-batches out of order");
  }
  static bool take(Device& device, const std::vector<double>& given, std::size_t i) {
    if (given.size() <= i) return false;
    device.now = std::max(device.now, given[i]);
    return true;
  }

  bool give(Device& device, const Action& a) {
    if (a.kind == SY_ACT_W) return true;
    const auto s = static_cast<std::size_t>(a.stage);
    const bool forward = a.kind == SY_ACT_F;
    const std::size_t to = forward ? s + 1 : s - 1;  // wraps around at stage 0
    if (to < n_ && pipe_.device_of_stage[to] != pipe_.device_of_stage[s] && a.micro_batch >= pipe_.capacity) {
      const auto& taken = forward ? stages_[to].forward_taken : stages_[to].back_taken;
      if (!take(device, taken, static_cast<std::size_t>(a.micro_batch - pipe_.capacity))) return false;
    }
    (forward ? stages_[s].forward_given : stages_[s].back_given).push_back(device.now);
    return true;
  }

  void check_complete() const {
    const std::size_t m = pipe_.micro_batches, backwards = pipe_.forward_only ? 0 : m;
    for (std::size_t s = 0; s < n_; ++s) {
      const Stage& stage = stages_[s];
      if (stage.forward_given.size() != m || stage.back_given.size() != backwards ||
          static_cast<std::size_t>(stage.whole + stage.weights) != backwards)
        throw std::logic_error("stage " + std::to_string(s) + " misses or doubles an action");
    }
  }

  const Pipe& pipe_;
  const Lists& lists_;
  std::size_t n_;
  std::vector<Device> devices_;
  std::vector<Stage> stages_;
  Outcome result_;
};

inline Outcome run(const Pipe& pipe, const Lists& lists) { return Run(pipe, lists)(); }

}  // namespace simulation
