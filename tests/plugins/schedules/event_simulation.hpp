// Carries out lists of actions with times, to check schedules: an action runs when its inputs are there, its device is
// free and its output finds room on the edge.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
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
  int64_t capacity = INT64_MAX;  // tensors between neighbouring stages, sent and not yet taken
};

/// p stages on as many devices, F = 1, B = 2.
inline Pipe straight(uint32_t p, uint32_t m) {
  Pipe pipe{{}, p, m, std::vector<double>(p, 1), std::vector<double>(p, 1), std::vector<double>(p, 1)};
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
  const std::vector<uint8_t> splits(pipe.device_of_stage.size(), 1);
  sy_schedule_in in{};
  in.size = sizeof in;
  in.n_stages = static_cast<uint32_t>(pipe.device_of_stage.size());
  in.n_devices = pipe.devices;
  in.micro_batches = pipe.micro_batches;
  in.device_of_stage = pipe.device_of_stage.data();
  in.cost_f = pipe.f.data(), in.cost_i = pipe.i.data(), in.cost_w = pipe.w.data();
  in.splits = splits.data();
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
  std::vector<int64_t> most_in_flight;  // per stage: micro-batches between the start of F and the end of B
};

/// Throws where the lists cannot run to their end, miss or double an action, or break the order of micro-batches.
class Run {
 public:
  Run(const Pipe& pipe, const Lists& lists) : pipe_(pipe), lists_(lists), n_(pipe.device_of_stage.size()) {
    for (auto* counts : {&f_begun_, &f_done_, &b_begun_, &b_done_}) counts->assign(n_, 0);
    result_.most_in_flight.assign(n_, 0);
  }

  Outcome operator()() {
    std::vector<std::size_t> next(lists_.size(), 0);
    std::vector<double> free_at(lists_.size(), 0);
    std::vector<const Action*> running(lists_.size(), nullptr);
    double now = 0, busy = 0;
    for (;;) {
      for (bool started = true; started;) {
        started = false;
        for (std::size_t d = 0; d < lists_.size(); ++d) {
          if (running[d] || next[d] == lists_[d].size() || !can_start(lists_[d][next[d]], d)) continue;
          running[d] = &lists_[d][next[d]++];
          free_at[d] = now + begin(*running[d]);
          busy += free_at[d] - now;
          started = true;
        }
      }
      double soonest = -1;
      for (std::size_t d = 0; d < lists_.size(); ++d)
        if (running[d] && (soonest < 0 || free_at[d] < soonest)) soonest = free_at[d];
      if (soonest < 0) break;
      now = soonest;
      for (std::size_t d = 0; d < lists_.size(); ++d) {
        if (!running[d] || free_at[d] != now) continue;
        ++(running[d]->kind == SY_ACT_F ? f_done_ : b_done_)[static_cast<std::size_t>(running[d]->stage)];
        running[d] = nullptr;
      }
    }
    check_complete();
    result_.seconds = now;
    result_.idle = 1 - busy / (now * static_cast<double>(lists_.size()));
    return result_;
  }

 private:
  bool can_start(const Action& a, std::size_t device) {
    const auto s = static_cast<std::size_t>(a.stage);
    const bool forward = a.kind == SY_ACT_F;
    if (pipe_.device_of_stage.at(s) != static_cast<int32_t>(device)) throw std::logic_error("stage on another device");
    if ((forward ? f_begun_ : b_begun_)[s] != a.micro_batch) throw std::logic_error("micro-batches out of order");
    if (forward) {
      if (s > 0 && f_done_[s - 1] <= a.micro_batch) return false;
      return s + 1 == n_ || f_begun_[s] - f_begun_[s + 1] < pipe_.capacity;
    }
    if (f_done_[s] <= a.micro_batch || (s + 1 < n_ && b_done_[s + 1] <= a.micro_batch)) return false;
    return s == 0 || b_begun_[s] - b_begun_[s - 1] < pipe_.capacity;
  }
  double begin(const Action& a) {
    const auto s = static_cast<std::size_t>(a.stage);
    ++(a.kind == SY_ACT_F ? f_begun_ : b_begun_)[s];
    result_.most_in_flight[s] = std::max(result_.most_in_flight[s], f_begun_[s] - b_done_[s]);
    return a.kind == SY_ACT_F ? pipe_.f[s] : pipe_.i[s] + pipe_.w[s];
  }
  void check_complete() const {
    for (std::size_t s = 0; s < n_; ++s)
      if (f_done_[s] != pipe_.micro_batches || b_done_[s] != (pipe_.forward_only ? 0 : pipe_.micro_batches))
        throw std::logic_error("stage " + std::to_string(s) + " did not end: locked, or an action is missing");
  }

  const Pipe& pipe_;
  const Lists& lists_;
  std::size_t n_;
  std::vector<int64_t> f_begun_, f_done_, b_begun_, b_done_;
  Outcome result_;
};

inline Outcome run(const Pipe& pipe, const Lists& lists) { return Run(pipe, lists)(); }

}  // namespace simulation
