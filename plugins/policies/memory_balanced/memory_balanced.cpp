// Contiguous stages for devices of unequal memory: each device at most once, in any order, so that the largest share of
// a budget is as small as it can be. Fewer stages than devices where that is better (each more stage makes 1F1B hold
// one more micro-batch on the first).
//
// The share is the core's: peak bytes under the configured schedule, with activations in flight, logits and edges, over
// the budget. Without budgets the largest peak itself is made small. Small models are searched to the end, large ones
// by a bottleneck search.

#include <cmath>
#include <string>

#include "../stages.hpp"
#include "bottleneck.hpp"
#include "enumeration.hpp"
#include "search.hpp"

namespace {

using namespace sy::place;

/// Judging a split takes time that grows with the layers: looked at one by one are at most this many layers in all
/// splits.
constexpr double most_enumerated = 50000;

class Explanation {
 public:
  Explanation(const sy_place& in, const judge& j) : in_(in), judge_(j) {
    for (uint32_t d = 0; d < in.n_devices; ++d) has_budgets_ = has_budgets_ || in.devices[d]->budget != UINT64_MAX;
  }

  std::string text() const {
    const verdict& v = *judge_.best();
    const int32_t device = v.what.device[v.stage];
    const int32_t first = v.what.first[v.stage], last = v.what.end(v.stage, static_cast<int32_t>(in_.n_layers)) - 1;
    std::string text = std::string("bottleneck ") + in_.devices[device]->name + " with '" + in_.layers[first]->name +
                       "' to '" + in_.layers[last]->name + "': " + share(v);
    if (v.what.stages() < in_.n_devices)
      text +=
          "; " + counted(v.what.stages(), "stage") + " on " + counted(in_.n_devices, "device") + " is better than more";
    if (const verdict* second = judge_.second())
      text += "; runner-up (" + difference(*second, v) + "): " + share(*second) + " on " +
              in_.devices[second->what.device[second->stage]]->name;
    return text;
  }

 private:
  std::string share(const verdict& v) const {
    const int32_t device = v.what.device[v.stage];
    const std::string peak = bytes_text(static_cast<double>(v.peak[static_cast<std::size_t>(device)]));
    if (!has_budgets_) return peak;
    const auto per_mille = std::lround(1000 * v.ratio);
    return peak + " of " + bytes_text(judge_.budget(device)) + " (" + std::to_string(per_mille / 10) + "." +
           std::to_string(per_mille % 10) + " %)";
  }
  /// What `other` does differently, in a few words.
  std::string difference(const verdict& other, const verdict& v) const {
    if (other.what.stages() != v.what.stages()) return counted(other.what.stages(), "stage");
    for (std::size_t s = 1; s < v.what.stages(); ++s)
      if (other.what.first[s] != v.what.first[s])
        return std::string("cut before '") + in_.layers[other.what.first[s]]->name + "' instead of '" +
               in_.layers[v.what.first[s]]->name + "'";
    return "the same cuts on other devices";
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
    const memory_model model(in, out.recompute);
    judge judge(in, comparable_budgets(in));
    std::size_t most_stages = std::min(in.n_devices, in.n_layers);
    if (in.max_stages > 0) most_stages = std::min<std::size_t>(most_stages, in.max_stages);
    std::vector<double> budgets;
    for (uint32_t d = 0; d < in.n_devices; ++d) budgets.push_back(judge.budget(static_cast<int32_t>(d)));
    if (count_of_splits(model.layers(), most_stages, classes_of(in, budgets, 0)) * in.n_layers <= most_enumerated)
      enumerate(in, model, most_stages, judge);
    else
      search(in, model, most_stages, judge);
    answer(in, judge, out);
  }

 private:
  static void answer(const sy_place& in, const judge& judge, sy_placed& out) {
    if (judge.best() == nullptr)
      throw sy::fault(SY_E_CONFIG, "the devices that layers are fixed to allow no contiguous placement");
    const verdict& v = *judge.best();
    if (!v.fits) throw sy::fault(SY_E_INFEASIBLE, misfit_text(in, v));
    std::vector<int32_t> device;
    for (std::size_t s = 0; s < v.what.stages(); ++s)
      device.resize(static_cast<std::size_t>(v.what.end(s, static_cast<int32_t>(in.n_layers))), v.what.device[s]);
    write_stages(in, device, out);
    say(out, Explanation(in, judge).text());
  }

  static std::string misfit_text(const sy_place& in, const verdict& v) {
    std::size_t stage = 0;
    while (stage + 1 < v.what.stages() && v.what.first[stage + 1] <= v.misfit_layer) ++stage;
    return "nothing fits: even in the best split " + layer_text(in, static_cast<uint32_t>(v.misfit_layer)) +
           " misses " + bytes_text(static_cast<double>(v.misfit_bytes)) + " on " +
           in.devices[v.what.device[stage]]->name + "; more micro-batches, recompute = true, or more devices need less";
  }
};

}  // namespace

SY_PLUGIN_NOTE("policy-memory_balanced");
static constexpr sy_export exports[] = {sy::export_policy<MemoryBalanced>()};
SY_DEFINE_PLUGIN("policy-memory_balanced", "0.1.0", exports)
