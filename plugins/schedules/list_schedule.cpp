#include "list_schedule.hpp"

#include <algorithm>
#include <queue>
#include <set>
#include <string>

namespace sy::schedule {
namespace {

/// Progress of one stage, as numbers of micro-batches.
struct stage_state {
  int32_t device = 0;
  double cost_f = 1, cost_b = 2;
  int64_t f_begun = 0, f_done = 0, b_begun = 0, b_done = 0;
};

struct device_state {
  std::vector<int32_t> stages;
  int64_t forwards_left = 0;
  bool busy = false;
};

struct action {
  uint32_t kind = 0;  // 0: none is ready
  int32_t stage = -1;
  int64_t micro_batch = 0;
};

struct ending {
  double time;
  int32_t device;
  action what;
  bool operator>(const ending& o) const { return time != o.time ? time > o.time : device > o.device; }
};

class simulation {
 public:
  simulation(const sy_schedule_in& in, const rules& r) : in_(in), rules_(r), micro_batches_(in.micro_batches) {
    stages_.resize(in.n_stages);
    devices_.resize(in.n_devices);
    const bool timed = known_costs();
    for (uint32_t s = 0; s < in.n_stages; ++s) {
      const int32_t d = in.device_of_stage[s];
      if (d < 0 || static_cast<uint32_t>(d) >= in.n_devices)
        throw fault(SY_E_ARGUMENT, "stage " + std::to_string(s) + " is on device " + std::to_string(d) + " of " +
                                       std::to_string(in.n_devices));
      stages_[s].device = d;
      if (timed) stages_[s].cost_f = in.cost_f[s], stages_[s].cost_b = in.cost_i[s] + in.cost_w[s];
      devices_[static_cast<std::size_t>(d)].stages.push_back(static_cast<int32_t>(s));
      devices_[static_cast<std::size_t>(d)].forwards_left += micro_batches_;
    }
    for (uint32_t d = 0; d < in.n_devices; ++d) awake_.insert(static_cast<int32_t>(d));
  }

  void run() {
    start_what_can();
    while (!endings_.empty()) {
      const double now = endings_.top().time;
      for (; !endings_.empty() && endings_.top().time == now; endings_.pop()) end(endings_.top());
      start_what_can();
    }
    for (const stage_state& s : stages_)
      if (s.f_done != micro_batches_ || (!in_.forward_only && s.b_done != micro_batches_))
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

  /// The hand-over to `next` has room for micro-batch i when `next` has begun micro-batch i - 1.
  bool has_room(const stage_state& from, const stage_state& next, int64_t begun, int64_t i) const {
    return from.device == next.device || begun >= i;
  }
  bool ready_f(int32_t s) {
    const stage_state& me = at(s);
    const int64_t i = me.f_begun;
    if (i >= micro_batches_ || (s > 0 && at(s - 1).f_done <= i)) return false;
    if (!in_.forward_only && i - me.b_done >= rules_.most_in_flight[static_cast<std::size_t>(s)]) return false;
    return is_last(s) || has_room(me, at(s + 1), at(s + 1).f_begun, i);
  }
  bool ready_b(int32_t s) {
    const stage_state& me = at(s);
    const int64_t i = me.b_begun;
    if (in_.forward_only || i >= me.f_done || (!is_last(s) && at(s + 1).b_done <= i)) return false;
    if (rules_.backward_after_forward && devices_[static_cast<std::size_t>(me.device)].forwards_left > 0) return false;
    return s == 0 || has_room(me, at(s - 1), at(s - 1).b_begun, i);
  }

  /// The lowest ready B, else the lowest ready F; of equal micro-batches the later stage's B, the earlier stage's F.
  action choose(const device_state& d) {
    action best;
    for (const int32_t s : d.stages)
      if (ready_b(s) && (!best.kind || at(s).b_begun <= best.micro_batch)) best = {SY_ACT_B, s, at(s).b_begun};
    if (best.kind) return best;
    for (const int32_t s : d.stages)
      if (ready_f(s) && (!best.kind || at(s).f_begun < best.micro_batch)) best = {SY_ACT_F, s, at(s).f_begun};
    return best;
  }

  /// Devices are looked at in order, again whenever a start made room for a neighbour, until nothing more can start
  /// now.
  void start_what_can() {
    while (!awake_.empty()) {
      const int32_t d = *awake_.begin();
      awake_.erase(awake_.begin());
      device_state& device = devices_[static_cast<std::size_t>(d)];
      if (device.busy) continue;
      const action a = choose(device);
      if (!a.kind) continue;
      begin(d, a);
    }
  }

  void begin(int32_t d, const action& a) {
    check(in_.emit(in_.self, d, a.kind, a.stage, static_cast<int32_t>(a.micro_batch), nullptr),
          "the core took no action of stage " + std::to_string(a.stage));
    stage_state& s = at(a.stage);
    const bool forward = a.kind == SY_ACT_F;
    ++(forward ? s.f_begun : s.b_begun);
    devices_[static_cast<std::size_t>(d)].busy = true;
    endings_.push({now_ + (forward ? s.cost_f : s.cost_b), d, a});
    wake_neighbours(a.stage);
  }

  void end(const ending& e) {
    now_ = e.time;
    stage_state& s = at(e.what.stage);
    device_state& device = devices_[static_cast<std::size_t>(e.device)];
    if (e.what.kind == SY_ACT_F) {
      ++s.f_done;
      --device.forwards_left;
    } else {
      ++s.b_done;
    }
    device.busy = false;
    wake_neighbours(e.what.stage);
  }

  void wake_neighbours(int32_t s) {
    awake_.insert(at(s).device);
    if (s > 0) awake_.insert(at(s - 1).device);
    if (!is_last(s)) awake_.insert(at(s + 1).device);
  }

  const sy_schedule_in& in_;
  const rules& rules_;
  int64_t micro_batches_;
  double now_ = 0;
  std::vector<stage_state> stages_;
  std::vector<device_state> devices_;
  std::set<int32_t> awake_;
  std::priority_queue<ending, std::vector<ending>, std::greater<>> endings_;
};

}  // namespace

void list_schedule(const sy_schedule_in& in, const rules& r) {
  if (in.n_stages == 0 || in.micro_batches == 0) return;
  simulation(in, r).run();
}

}  // namespace sy::schedule
