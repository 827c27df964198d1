#include "check/policy/policy_checks.hpp"

#include "base/dtype.hpp"
#include "check/options_used.hpp"
#include "check/policy/made_up_model.hpp"
#include "check/surroundings.hpp"
#include "plan/plan.hpp"
#include "plugin/chosen.hpp"

namespace switchyard::checks {

namespace {

std::string text_of(const MadeUp& m) {
  return "model " + std::to_string(m.seed) + " of " + std::to_string(m.layers) + " layers on " +
         std::to_string(m.devices) + (m.budget > 0 ? " devices of " + std::to_string(m.budget) + " bytes" : " devices");
}

std::vector<MadeUp> models() {
  std::vector<MadeUp> all;
  uint64_t seed = 1;
  for (const int layers : {1, 2, 5, 9})
    for (const int devices : {1, 2, 3})
      for (const bool branches : {false, true})
        if (!branches || layers >= 5) all.push_back({seed++, layers, devices, branches, 0});
  return all;
}

/// Answers of one policy to questions of the core.
class PolicyChecks {
 public:
  PolicyChecks(const sy_policy_api& api, const Request& request, const std::vector<std::string>& folders)
      : api_(api), table_(request.options), registry_({}, folders) {
    registry_.add(&made_up_plugin());
    for (const OptionSpec& s : options_of(api))
      if (!s.fallback && !table_.find(s.key)) table_.set(s.key, guess(s, 0));
  }

  void run(Inspection& inspection) {
    inspection.run("complete", [&] { complete(); });
    inspection.run("deterministic", [&] { deterministic(); });
    inspection.run("within budget", [&] {
      if (!inspection.passed("complete")) throw Skip("its answers are no placements");
      within_budget();
    });
    inspection.run("options", [&] {
      expect_options_used(
          options_of(api_), table_, [&](const Value& table) { return face(table); }, "part1");
    });
    inspection.run("surroundings", [&] { before_.expect_kept(); });
  }

 private:
  ChosenPolicy made(const Value& table) const { return ChosenPolicy(api_, table, std::string(api_.id) + ":"); }

  /// Plans the model with everything on the first device; the policy is asked on the way.
  Plan plan(const MadeUp& what) {
    const Config config = parse_config(configuration(what), "check.toml");
    BatchSpec batch;
    batch.input_shape = {made_up_width};
    batch.input_dtype = dtype::f32;
    const auto model = Model::create(config, registry_, batch, micro_batch_rows(config)[0].count);
    return make_plan(config, registry_, *model);
  }

  Asked ask(const ChosenPolicy& policy, const MadeUp& what, bool pinned = false) {
    const UnderTest under_test(api_, policy.get(), pinned);
    try {
      plan(what);
    } catch (const Error&) {
      if (!under_test.was_asked())
        throw;  // one device may be too small for all of it: the answer is there all the same
    }
    return under_test.asked();
  }

  void complete() {
    const ChosenPolicy policy = made(table_);
    std::string refusal;
    int answered = 0;
    for (const bool pinned : {false, true})
      for (const MadeUp& m : models()) {
        const Asked asked = ask(policy, m, pinned);
        if (asked.first.rc != SY_OK) {
          refusal = asked.first.refusal;
          continue;
        }
        if (pinned && !asked.fault.empty() && asked.fault.find("pinned") != std::string::npos)
          throw Fault(text_of(m) + ": " + asked.fault, "put layers whose pin is not -1 on that device, or refuse");
        if (!asked.fault.empty())
          throw Fault(text_of(m) + ": " + asked.fault,
                      "number stages from 0 along the layers, without a gap, and give each a device");
        ++answered;
      }
    if (answered == 0) throw Fault("it refuses every model: " + refusal, "place models without budgets");
  }

  void deterministic() {
    const ChosenPolicy policy = made(table_), other = made(table_);
    for (const bool pinned : {false, true})
      for (const MadeUp& m : models()) {
        const Asked asked = ask(policy, m, pinned);
        const std::string change = "let the answer follow from the question and the options alone";
        if (!(asked.first == asked.second)) throw Fault(text_of(m) + ": the same question gets two answers", change);
        if (!(asked.first == ask(other, m, pinned).first))
          throw Fault(text_of(m) + ": two of the policy answer the same question differently", change);
      }
  }

  /// Budgets between too little for anything and enough for everything.
  std::vector<MadeUp> tight(MadeUp m) {
    const ChosenPolicy policy = made(table_);
    uint64_t total = 0;
    {
      const UnderTest under_test(api_, policy.get(), false);
      total = plan(m).memory[0].peak();
    }
    std::vector<MadeUp> all;
    for (const double share : {0.02, 0.5, 0.65, 0.8, 2.0}) {
      m.budget = static_cast<uint64_t>(share * static_cast<double>(total));
      all.push_back(m);
    }
    return all;
  }

  void within_budget() {
    const ChosenPolicy policy = made(table_);
    bool looks = false;
    std::string over;
    for (const MadeUp& m : models()) {
      const Asked free = ask(policy, m);
      if (free.first.rc != SY_OK || m.layers < 5) continue;
      for (const MadeUp& b : tight(m)) {
        const Asked asked = ask(policy, b);
        looks = looks || !(asked.first == free.first);
        if (asked.first.rc == SY_OK && asked.misfit_layer >= 0 && !asked.first.closest && over.empty())
          over = text_of(b) + ": its answer is " + std::to_string(asked.misfit_bytes) + " bytes over at layer " +
                 std::to_string(asked.misfit_layer);
      }
    }
    if (over.empty()) return;
    if (!looks) throw Skip("it answers the same with and without budgets; the core refuses what does not fit");
    throw Fault(over, "ask in->evaluate, and return SY_E_INFEASIBLE (or set closest) where misfit_layer is not -1");
  }

  std::string face(const Value& table) {
    std::string text;
    try {
      const ChosenPolicy policy = made(table);
      for (const MadeUp& m : models()) {
        const Answer a = ask(policy, m).first;
        text += a.refusal;
        for (const int32_t s : a.stage_of_layer) text += std::to_string(s) + " ";
        for (uint32_t s = 0; s < a.n_stages; ++s) text += std::to_string(a.device_of_stage[s]) + " ";
      }
    } catch (const Error& e) {
      return std::string("refused: ") + e.what();
    }
    return text;
  }

  const Surroundings before_;
  const sy_policy_api& api_;
  Value table_;
  Registry registry_;
};

}  // namespace

void check_policy(const sy_policy_api& api, const Request& request, const std::vector<std::string>& folders,
                  Subject& subject, const Listener& listener) {
  Inspection inspection(subject, listener);
  if (listener.on_line) listener.on_line(heading(subject));
  PolicyChecks(api, request, folders).run(inspection);
}

}  // namespace switchyard::checks
