// Contiguous stages for devices of unequal memory: each device at most once, in any order, so that the largest share of
// a budget is as small as it can be. Fewer stages than devices where that is better (each more stage makes 1F1B hold
// one more micro-batch on the first).
//
// The share is the core's: peak bytes under the configured schedule, with activations in flight, logits and edges, over
// the budget. Without budgets the largest peak itself is made small. Small models are searched to the end, large ones
// by a bottleneck search.

#include <string>

#include "../splits/enumeration.hpp"
#include "../stages.hpp"
#include "search.hpp"

namespace {

using namespace sy::place;

class Explanation {
 public:
  Explanation(const sy_place& in, const judge& j) : in_(in), judge_(j) {
    for (uint32_t d = 0; d < in.n_devices; ++d) has_budgets_ = has_budgets_ || in.devices[d]->budget != UINT64_MAX;
  }

  std::string text() const {
    const verdict& v = *judge_.best();
    std::string text = "bottleneck " + stage_text(in_, v.what, v.stage) + ": " + share(v) + recomputed(v);
    if (v.what.stages() < in_.n_devices)
      text +=
          "; " + counted(v.what.stages(), "stage") + " on " + counted(in_.n_devices, "device") + " is better than more";
    if (const verdict* second = judge_.second())
      text += "; runner-up (" + difference(in_, second->what, v.what) + "): " + share(*second) + " on " +
              in_.devices[second->what.device[second->stage]]->name + lost_by(*second, v);
    return text;
  }

 private:
  static std::string recomputed(const verdict& v) {
    return v.recomputed == 0 ? "" : ", with " + counted(v.recomputed, "layer") + " recomputed";
  }
  /// What made the difference, where it was not the share.
  static std::string lost_by(const verdict& second, const verdict& v) {
    if (!second.fits) return ", misses " + bytes_text(static_cast<double>(second.misfit_bytes));
    if (v.recomputed > 0 && second.step_s > v.step_s)
      return recomputed(second) + ", step " + percent_text(second.step_s / v.step_s - 1) + " longer";
    if (v.recomputed == 0 && second.recomputed > 0) return recomputed(second);
    if (second.ratio > v.ratio) return "";
    if (second.what.stages() < v.what.stages()) return ", as full with fewer stages";
    return second.step_s > v.step_s ? ", as full, step " + percent_text(second.step_s / v.step_s - 1) + " longer"
                                    : ", as good";
  }
  std::string share(const verdict& v) const {
    const int32_t device = v.what.device[v.stage];
    const std::string peak = bytes_text(static_cast<double>(v.peak[static_cast<std::size_t>(device)]));
    if (!has_budgets_) return "at most " + peak;
    return "at most " + peak + " of " + bytes_text(judge_.budget(device)) + " (" + percent_text(v.ratio) + ")";
  }

  const sy_place& in_;
  const judge& judge_;
  bool has_budgets_ = false;
};

struct MemoryBalanced {
  static constexpr const char* id = "memory_balanced";
  static constexpr const char* help =
      "contiguous stages on devices of unequal memory; goal: the largest share of a device's budget is as small as it "
      "can be";

  explicit MemoryBalanced(const sy::config&) {}

  void place(const sy_place& in, sy_placed& out) const {
    expect_something(in);
    const memory_model model(in, false);
    const std::vector<double> budgets = comparable_budgets(in);
    const memory_goal goal(in, model, budgets);
    judge judge(in, goal, budgets);
    find(in, model, goal, budgets, judge);
    answer(in, judge, out);
  }

 private:
  static void find(const sy_place& in, const memory_model& model, const memory_goal& goal,
                   const std::vector<double>& budgets, judge& judge) {
    const std::size_t most_stages = most_stages_of(in);
    if (in.n_devices <= most_devices_enumerated) {
      std::vector<worth> worths;
      for (const double b : budgets) worths.push_back({b});
      const std::vector<device_class> classes = exact_classes(in, worths);
      if (can_enumerate(in, most_stages, classes)) return enumerate(in, goal, classes, most_stages, judge);
    }
    search(in, model, goal, budgets, most_stages, judge);
  }

  static void answer(const sy_place& in, const judge& judge, sy_placed& out) {
    if (judge.best() == nullptr)
      throw sy::fault(SY_E_CONFIG, "the devices that layers are fixed to allow no contiguous placement");
    const verdict& v = *judge.best();
    out.closest = !v.fits;
    write_split(in, v.what, out);
    say(out, Explanation(in, judge).text());
  }
};

}  // namespace

SY_PLUGIN_NOTE("policy-memory_balanced");
static constexpr sy_export exports[] = {sy::export_policy<MemoryBalanced>()};
SY_DEFINE_PLUGIN("policy-memory_balanced", "0.1.0", exports)
