#include "list_schedule.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <set>
#include <string>
#include <utility>

namespace sy::schedule {
namespace {

/// Stages whose next action of one kind is ready, the first to go at the front: by group of micro-batches, then by
/// stage, negated where the latest stage goes first.
using ready_set = std::set<std::pair<int64_t, int64_t>>;
constexpr int64_t not_ready = -1;

/// Progress of one stage, as numbers of micro-batches. "b" is B or I.
struct stage_state {
  int32_t device = 0;
  bool split = false;
  double cost_f = 1, cost_b = 2, cost_w = 1;
  int64_t f_begun = 0, f_done = 0, b_begun = 0, b_done = 0, w_begun = 0;
  int64_t f_group = not_ready, b_group = not_ready, w_group = not_ready;  // under which it stands in the device's sets
};

struct device_state {
  std::vector<int32_t> stages;
  ready_set f, b, w;
  std::set<std::pair<double, int32_t>> coming_f, coming_b;  // when, on which stage: inputs that are being made
  int64_t forwards_left = 0;
  int64_t kept = 0, most_kept = std::numeric_limits<int64_t>::max();
  bool busy = false, awake = false;
  // The next forward where they are taken in order: micro-batch next_f of stage stages[next_stage].
  std::size_t next_stage = 0;
  int64_t next_f = 0;
};

struct action {
  uint32_t kind = 0;  // 0: none is ready
  int32_t stage = -1;
};

struct ending {
  double time;
  int32_t device;
  action what;
  bool operator>(const ending& o) const { return time != o.time ? time > o.time : device > o.device; }
};

class simulation {
 public:
  simulation(const sy_schedule_in& in, const rules& r)
      : in_(in), rules_(r), micro_batches_(in.micro_batches), most_waiting_(r.most_waiting) {
    map_of(in);
    stages_.resize(in.n_stages);
    devices_.resize(in.n_devices);
    const bool timed = known_costs();
    for (uint32_t s = 0; s < in.n_stages; ++s) {
      stage_state& stage = stages_[s];
      stage.device = in.device_of_stage[s];
      stage.split = r.split && in.splits != nullptr && in.splits[s] != 0;
      if (timed) stage.cost_f = in.cost_f[s], stage.cost_w = in.cost_w[s], stage.cost_b = in.cost_i[s] + in.cost_w[s];
      if (stage.split) stage.cost_b = timed ? in.cost_i[s] : 1;
      device_of(stage).stages.push_back(static_cast<int32_t>(s));
      device_of(stage).forwards_left += micro_batches_;
    }
    for (uint32_t d = 0; d < in.n_devices && !in.forward_only && !r.most_kept.empty(); ++d)
      devices_[d].most_kept = r.most_kept[d];
    refresh_all();
  }

  void run() {
    do {
      start_what_can();
      while (!endings_.empty()) {
        const double now = endings_.top().time;
        for (; !endings_.empty() && endings_.top().time == now; endings_.pop()) end(endings_.top());
        start_what_can();
      }
      if (through()) return;
      widen();
    } while (most_waiting_ <= micro_batches_);
    throw fault(SY_E_INTERNAL, "the list schedule stopped before all micro-batches were through");
  }

 private:
  /// Costs that are all there, finite, not negative and not all zero; else F = I = W = 1.
  bool known_costs() const {
    double sum = 0;
    for (const double* costs : {in_.cost_f, in_.cost_i, in_.cost_w}) {
      if (costs == nullptr) return false;
      for (uint32_t s = 0; s < in_.n_stages; ++s) {
        if (!(costs[s] >= 0 && costs[s] < 1e300)) return false;
        sum += costs[s];
      }
    }
    return sum > 0;
  }

  bool is_last(int32_t s) const { return static_cast<uint32_t>(s) + 1 == in_.n_stages; }
  stage_state& at(int32_t s) { return stages_[static_cast<std::size_t>(s)]; }
  device_state& device_of(const stage_state& s) { return devices_[static_cast<std::size_t>(s.device)]; }
  bool in_order() const { return rules_.forwards_in_order && !in_.forward_only; }

  /// The hand-over to `next` has room for micro-batch i when `next` has begun micro-batch i - most_waiting_.
  bool has_room(const stage_state& from, const stage_state& next, int64_t begun, int64_t i) const {
    return from.device == next.device || i - begun < most_waiting_;
  }
  // Whether a stage could start its next F or B if the input were there.
  bool open_f(int32_t s) {
    const stage_state& me = at(s);
    const int64_t i = me.f_begun;
    if (i >= micro_batches_) return false;
    if (!in_.forward_only && !rules_.most_in_flight.empty() &&
        i - me.b_done >= rules_.most_in_flight[static_cast<std::size_t>(s)])
      return false;
    return is_last(s) || has_room(me, at(s + 1), at(s + 1).f_begun, i);
  }
  bool open_b(int32_t s) {
    const stage_state& me = at(s);
    const int64_t i = me.b_begun;
    return !in_.forward_only && i < me.f_done && (s == 0 || has_room(me, at(s - 1), at(s - 1).b_begun, i));
  }
  bool ready_f(int32_t s) { return open_f(s) && (s == 0 || at(s - 1).f_done > at(s).f_begun); }
  bool ready_b(int32_t s) { return open_b(s) && (is_last(s) || at(s + 1).b_done > at(s).b_begun); }

  // These bring the sets of the stage's device up to date with what the stage could start now. A stage that is not
  // there has nothing to start.
  void refresh_f(int32_t s) {
    if (s < 0 || static_cast<uint32_t>(s) >= in_.n_stages) return;
    stage_state& me = at(s);
    place(me, device_of(me).f, me.f_group, ready_f(s) ? me.f_begun / rules_.group : not_ready, s);
  }
  void refresh_b(int32_t s) {
    if (s < 0 || static_cast<uint32_t>(s) >= in_.n_stages) return;
    stage_state& me = at(s);
    place(me, device_of(me).b, me.b_group, ready_b(s) ? me.b_begun / rules_.group : not_ready, -int64_t{s});
  }
  void refresh_w(int32_t s) {
    stage_state& me = at(s);
    const bool ready = me.split && me.w_begun < me.b_done;
    place(me, device_of(me).w, me.w_group, ready ? me.w_begun / rules_.group : not_ready, -int64_t{s});
  }
  void place(const stage_state& me, ready_set& set, int64_t& stands, int64_t group, int64_t stage) {
    if (stands == group) return;
    if (stands != not_ready) set.erase({stands, stage});
    if (group != not_ready) set.insert({group, stage}), wake(me.device);
    stands = group;
  }
  void wake(int32_t d) {
    device_state& device = devices_[static_cast<std::size_t>(d)];
    if (device.awake || device.busy) return;
    device.awake = true;
    awake_.push(d);
  }

  action choose(device_state& d) {
    const action forward = next_forward(d), backward = next_backward(d);
    const action& first = rules_.forward_first ? forward : backward;
    const action& second = rules_.forward_first ? backward : forward;
    if (first.kind) return first;
    if (second.kind) return comes_soon(d, second, rules_.forward_first, !rules_.forward_first) ? action{} : second;
    if (d.w.empty()) return {};
    const action weights{SY_ACT_W, static_cast<int32_t>(-d.w.begin()->second)};
    return comes_soon(d, weights, true, true) ? action{} : weights;
  }
  /// Will a forward, or a backward, be ready within the patience of action `a`?
  bool comes_soon(device_state& d, const action& a, bool forward, bool backward) {
    const double until = now_ + rules_.patience * cost(a);
    if (forward && d.kept < d.most_kept)
      for (auto c = d.coming_f.begin(); c != d.coming_f.end() && c->first < until; ++c)
        if (open_f(c->second) && at(c->second - 1).f_done == at(c->second).f_begun) return true;
    if (backward)
      for (auto c = d.coming_b.begin(); c != d.coming_b.end() && c->first < until; ++c)
        if (open_b(c->second) && at(c->second + 1).b_done == at(c->second).b_begun) return true;
    return false;
  }
  double cost(const action& a) {
    const stage_state& s = at(a.stage);
    return a.kind == SY_ACT_F ? s.cost_f : a.kind == SY_ACT_W ? s.cost_w : s.cost_b;
  }
  action next_backward(device_state& d) {
    if (d.b.empty() || (rules_.backward_after_forward && d.forwards_left > 0)) return {};
    const auto s = static_cast<int32_t>(-d.b.begin()->second);
    return {at(s).split ? uint32_t{SY_ACT_I} : uint32_t{SY_ACT_B}, s};
  }
  action next_forward(device_state& d) {
    if (d.kept >= d.most_kept) return {};
    return first_forward(d);
  }
  /// Of those ready, whether the device may keep one more or not.
  action first_forward(device_state& d) {
    if (in_order()) {
      if (d.next_f >= micro_batches_ || d.stages.empty() || at(d.stages[d.next_stage]).f_group == not_ready) return {};
      return {SY_ACT_F, d.stages[d.next_stage]};
    }
    if (d.f.empty()) return {};
    return {SY_ACT_F, static_cast<int32_t>(d.f.begin()->second)};
  }
  /// A group of micro-batches on one stage, then on the device's next one, then the next group.
  void step_order(device_state& d) {
    const int64_t begin = d.next_f / rules_.group * rules_.group;
    if (++d.next_f < std::min(begin + rules_.group, micro_batches_)) return;
    if (++d.next_stage < d.stages.size())
      d.next_f = begin;
    else
      d.next_stage = 0;
  }

  /// Devices are looked at in order, again whenever a start made room for a neighbour, until nothing more can start
  /// now.
  void start_what_can() {
    while (!awake_.empty()) {
      const int32_t d = awake_.top();
      awake_.pop();
      device_state& device = devices_[static_cast<std::size_t>(d)];
      device.awake = false;
      if (const action a = choose(device); a.kind) begin(d, a);
    }
  }

  void begin(int32_t d, const action& a) {
    stage_state& s = at(a.stage);
    device_state& device = devices_[static_cast<std::size_t>(d)];
    int64_t& begun = a.kind == SY_ACT_F ? s.f_begun : a.kind == SY_ACT_W ? s.w_begun : s.b_begun;
    check(in_.emit(in_.self, d, a.kind, a.stage, static_cast<int32_t>(begun), nullptr),
          "the core took no action of stage " + std::to_string(a.stage));
    ++begun;
    if (a.kind == SY_ACT_F) {
      ++device.kept;
      if (in_order()) step_order(device);
    }
    device.busy = true;
    const double ends = now_ + cost(a);
    endings_.push({ends, d, a});
    if (a.kind == SY_ACT_F) {
      refresh_f(a.stage), refresh_f(a.stage - 1);  // which has room now
      if (!is_last(a.stage)) device_of(at(a.stage + 1)).coming_f.insert({ends, a.stage + 1});
    } else if (a.kind == SY_ACT_W) {
      refresh_w(a.stage);
    } else {
      refresh_b(a.stage), refresh_b(a.stage + 1);
      if (a.stage > 0) device_of(at(a.stage - 1)).coming_b.insert({ends, a.stage - 1});
    }
  }

  void end(const ending& e) {
    now_ = e.time;
    const int32_t s = e.what.stage;
    stage_state& stage = at(s);
    device_state& device = devices_[static_cast<std::size_t>(e.device)];
    device.busy = false;
    if (e.what.kind == SY_ACT_F) {
      ++stage.f_done;
      --device.forwards_left;
      refresh_b(s), refresh_f(s + 1);
      if (!is_last(s)) arrives(e.time, s + 1, &device_state::coming_f);
    } else if (e.what.kind == SY_ACT_W) {
      --device.kept;
    } else {
      ++stage.b_done;
      device.kept -= !stage.split;
      refresh_f(s), refresh_w(s), refresh_b(s - 1);
      if (s > 0) arrives(e.time, s - 1, &device_state::coming_b);
    }
    wake(e.device);
  }
  void arrives(double time, int32_t stage, std::set<std::pair<double, int32_t>> device_state::*coming) {
    (device_of(at(stage)).*coming).erase({time, stage});
    wake(at(stage).device);  // which may have waited for it
  }

  bool through() const {
    return std::all_of(stages_.begin(), stages_.end(), [this](const stage_state& s) {
      return s.f_done == micro_batches_ && (in_.forward_only || s.b_done == micro_batches_);
    });
  }

  /// Everything stands still: from now on the device that holds up the earliest forward keeps one more. If none does,
  /// hand-overs hold one more.
  void widen() {
    int32_t earliest = -1;
    std::pair<int64_t, int32_t> least{std::numeric_limits<int64_t>::max(), 0};
    for (std::size_t d = 0; d < devices_.size(); ++d) {
      const action a = first_forward(devices_[d]);
      if (!a.kind) continue;
      const std::pair<int64_t, int32_t> order{at(a.stage).f_group, a.stage};
      if (order < least) least = order, earliest = static_cast<int32_t>(d);
    }
    if (earliest >= 0) {
      ++devices_[static_cast<std::size_t>(earliest)].most_kept;
      wake(earliest);
    } else {
      ++most_waiting_;
      refresh_all();
    }
  }
  void refresh_all() {
    for (uint32_t s = 0; s < in_.n_stages; ++s) {
      refresh_f(static_cast<int32_t>(s));
      refresh_b(static_cast<int32_t>(s));
    }
  }

  const sy_schedule_in& in_;
  const rules& rules_;
  int64_t micro_batches_, most_waiting_;
  double now_ = 0;
  std::vector<stage_state> stages_;
  std::vector<device_state> devices_;
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> awake_;  // to be looked at
  std::priority_queue<ending, std::vector<ending>, std::greater<>> endings_;
};

}  // namespace

device_map map_of(const sy_schedule_in& in) {
  device_map map;
  map.stages.resize(in.n_devices);
  map.number.resize(in.n_devices);
  for (uint32_t s = 0; s < in.n_stages; ++s) {
    const int32_t d = in.device_of_stage[s];
    if (d < 0 || static_cast<uint32_t>(d) >= in.n_devices)
      throw fault(SY_E_ARGUMENT, "stage " + std::to_string(s) + " is on device " + std::to_string(d) + " of " +
                                     std::to_string(in.n_devices));
    int64_t& stages = map.stages[static_cast<std::size_t>(d)];
    if (stages++ == 0) map.number[static_cast<std::size_t>(d)] = map.used++;
    map.most_stages = std::max(map.most_stages, stages);
  }
  return map;
}

void list_schedule(const sy_schedule_in& in, const rules& r) {
  if (in.n_stages == 0 || in.micro_batches == 0) return;
  simulation(in, r).run();
}

}  // namespace sy::schedule
