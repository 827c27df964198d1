// Contiguous stages for devices of unequal speed and memory: each device at most once, in any order, so that the
// simulated optimizer step is as short as it can be among all splits that fit. Fewer stages than devices where filling
// and draining the pipeline, or hand-overs, cost more than another device gains.
//
// The step is the core's: the configured schedule carried out with the layers' costs, the devices' speeds and the
// links. Small models are searched to the end, large ones by a bottleneck search.

#include <algorithm>
#include <string>

#include "../splits/enumeration.hpp"
#include "../stages.hpp"
#include "search.hpp"

namespace {

using namespace sy::place;

/// What the runner-up lost by.
std::string lost_by(const verdict& second, const verdict& best) {
  if (!second.fits) return "misses " + bytes_text(static_cast<double>(second.misfit_bytes));
  const std::string step = seconds_text(second.step_s);
  if (second.step_s > best.step_s) return step + ", " + percent_text(second.step_s / best.step_s - 1) + " longer";
  return step +
         (second.what.stages() > best.what.stages() ? ", as long with more stages" : ", as long, a fuller device");
}

class Explanation {
 public:
  Explanation(const sy_place& in, const time_model& time, const goal& goal, const judge& judge)
      : in_(in), time_(time), goal_(goal), judge_(judge), best_(*judge.best()) {}

  std::string text() const { return bound() + stages() + budgets() + runner_up(); }

 private:
  std::string bound() const {
    const std::size_t slowest = goal_.bottleneck(best_);
    const double busy =
        time_.seconds(best_.what.first[slowest], best_.what.end(slowest, time_.layers()), best_.what.device[slowest]);
    return "step " + seconds_text(best_.step_s) + ", bound by " + stage_text(in_, best_.what, slowest) + ": " +
           seconds_text(busy) + " for each micro-batch" +
           (best_.recomputed == 0 ? "" : "; " + counted(best_.recomputed, "layer") + " recomputed");
  }
  std::string stages() const {
    if (best_.what.stages() == in_.n_devices) return "";
    return "; " + counted(best_.what.stages(), "stage") + " on " + counted(in_.n_devices, "device") +
           (best_.what.stages() == 1 ? " is" : " are") + " faster than more";
  }
  /// What would be faster, did it fit.
  std::string budgets() const {
    const verdict* faster = judge_.shortest_misfit();
    if (faster == nullptr || faster->step_s >= best_.step_s) return "";
    return "; budgets cost " + percent_text(best_.step_s / faster->step_s - 1) + ": " +
           difference(in_, faster->what, best_.what) + " takes " + seconds_text(faster->step_s) + ", but " +
           layer_text(in_, static_cast<uint32_t>(faster->misfit_layer)) + " misses " +
           bytes_text(static_cast<double>(faster->misfit_bytes));
  }
  std::string runner_up() const {
    const verdict* second = judge_.second();
    if (second == nullptr) return "";
    return "; runner-up (" + difference(in_, second->what, best_.what) + "): " + lost_by(*second, best_);
  }

  const sy_place& in_;
  const time_model& time_;
  const goal& goal_;
  const judge& judge_;
  const verdict& best_;
};

struct TimeBalanced {
  static constexpr const char* id = "time_balanced";
  static constexpr const char* help =
      "contiguous stages on devices of unequal speed and memory; goal: the shortest step among what fits";

  explicit TimeBalanced(const sy::config&) {}

  void place(const sy_place& in, sy_placed& out) const {
    expect_something(in);
    const memory_model memory(in, false), least(in, true);
    const time_model time(in);
    time_goal goal(in, time, memory, least);
    judge judge(in, goal, comparable_budgets(in));
    find(in, time, memory, goal, judge);
    if (judge.best() == nullptr)
      throw sy::fault(SY_E_CONFIG, "the devices that layers are fixed to allow no contiguous placement");
    const verdict& v = *judge.best();
    out.closest = !v.fits;
    write_split(in, v.what, out);
    say(out, Explanation(in, time, goal, judge).text());
  }

 private:
  static void find(const sy_place& in, const time_model& time, const memory_model& memory, time_goal& goal,
                   judge& judge) {
    const std::size_t most_stages = most_stages_of(in);
    std::vector<worth> worths;
    for (int32_t d = 0; d < static_cast<int32_t>(in.n_devices); ++d)
      worths.push_back({1 / std::max(time.seconds(0, time.layers(), d), 1e-300),
                        static_cast<double>(in.devices[d]->budget), 1e6 + static_cast<double>(time.kind(d))});
    if (in.n_devices > most_devices_enumerated) return search(in, memory, goal, worths, most_stages, judge);
    const std::vector<device_class> classes = exact_classes(in, worths);
    if (!can_enumerate(in, most_stages, classes)) return search(in, memory, goal, worths, most_stages, judge);
    const split whole{{0}, {classes.front().devices.front()}};
    if (pins(in).allow(0, time.layers(), whole.device[0])) goal.calibrate(whole, judge.without_recompute(whole).step_s);
    enumerate(in, goal, classes, most_stages, judge);
  }
};

}  // namespace

SY_PLUGIN_NOTE("policy-time_balanced");
static constexpr sy_export exports[] = {sy::export_policy<TimeBalanced>()};
SY_DEFINE_PLUGIN("policy-time_balanced", "0.1.0", exports)
