#include "check/schedule/schedule_checks.hpp"

#include "check/options_used.hpp"
#include "check/surroundings.hpp"
#include "plan/program.hpp"
#include "plugin/chosen.hpp"
#include "schedule/find_fault.hpp"
#include "schedule/run_schedule.hpp"

namespace switchyard::checks {

namespace {

/// One question to a schedule.
struct Setting {
  std::string text;
  std::vector<int> device_of_stage;
  int devices = 1;
  int micro_batches = 1;
  bool splits = false;
  bool forward_only = false;
};

std::vector<int> map_of(const std::string& kind, int devices) {
  std::vector<int> map;
  for (int d = 0; d < devices; ++d) map.push_back(d);
  if (kind == "one stage each") return map;
  for (int d = 0; d < devices; ++d) map.push_back(kind == "round" ? d : devices - 1 - d);
  return map;
}

std::vector<Setting> settings(bool forward_only) {
  std::vector<Setting> all;
  for (const int devices : {1, 2, 3, 4})
    for (const char* kind : {"one stage each", "round", "to and fro"})
      for (const int micro_batches : {1, 2, 4, 8})
        for (const bool splits : {false, true}) {
          if (forward_only && splits) continue;
          const std::string text = std::to_string(devices) + " devices (" + kind + "), " +
                                   std::to_string(micro_batches) + " micro-batches" +
                                   (splits ? ", split backward" : "") + (forward_only ? ", evaluation" : "");
          all.push_back({text, map_of(kind, devices), devices, micro_batches, splits, forward_only});
        }
  return all;
}

using Programs = std::vector<std::vector<Action>>;

class ScheduleChecks {
 public:
  ScheduleChecks(const sy_schedule_api& api, const Request& request) : api_(api), table_(request.options) {
    for (const OptionSpec& s : options_of(api))
      if (!s.fallback && !table_.find(s.key)) table_.set(s.key, guess(s, 0));
  }

  void run(Inspection& inspection) const {
    inspection.run("complete and in order", [&] { in_order(false); });
    inspection.run("ends", [&] {
      if (!inspection.passed("complete and in order")) throw Skip("its actions are wrong already");
      ends();
    });
    inspection.run("evaluation", [&] { in_order(true); });
    inspection.run("deterministic", [&] { deterministic(); });
    inspection.run("options", [&] {
      expect_options_used(options_of(api_), table_, [&](const Value& table) { return face(table); });
    });
    inspection.run("surroundings", [&] { before_.expect_kept(); });
  }

 private:
  ChosenSchedule made(const Value& table) const { return ChosenSchedule(api_, table, std::string(api_.id) + ":"); }

  static std::vector<Stage> stages_of(const Setting& s) {
    std::vector<Stage> stages;
    for (int i = 0; i < static_cast<int>(s.device_of_stage.size()); ++i)
      stages.push_back({i, s.device_of_stage[static_cast<std::size_t>(i)], i, i});
    return stages;
  }
  static std::vector<StageTimes> times_of(const Setting& s) {
    std::vector<StageTimes> times;
    for (std::size_t i = 0; i < s.device_of_stage.size(); ++i) {
      const double t = 1 + 0.25 * static_cast<double>(i % 3);
      times.push_back({t, t, t});
    }
    return times;
  }

  /// Nothing: the schedule refuses the setting.
  std::optional<Programs> ask(const ChosenSchedule& schedule, const Setting& s, std::string* refusal = nullptr) const {
    try {
      return ask_schedule(api_, schedule.get(), stages_of(s), s.devices, s.micro_batches, times_of(s),
                          std::vector<bool>(s.device_of_stage.size(), s.splits), s.forward_only);
    } catch (const Error& e) {
      if (refusal) *refusal = e.what();
      return std::nullopt;
    }
  }
  std::optional<Programs> ask(const Value& table, const Setting& s, std::string* refusal = nullptr) const {
    return ask(made(table), s, refusal);
  }

  void in_order(bool forward_only) const {
    std::string refusal;
    int taken = 0;
    for (const Setting& s : settings(forward_only)) {
      const std::optional<Programs> programs = ask(table_, s, &refusal);
      if (!programs) continue;
      ++taken;
      const std::vector<bool> splits(s.device_of_stage.size(), s.splits);
      const std::vector<Stage> stages = stages_of(s);
      if (const auto fault = find_fault({stages, s.micro_batches, splits, forward_only}, *programs))
        throw Fault("with " + s.text + ", device " + std::to_string(fault->device) + ", action " +
                        std::to_string(fault->position) + ": " + fault->text,
                    forward_only ? "emit every F once and nothing else where in->forward_only is set, or refuse it"
                                 : "emit every F and B (or I and W) once on its stage's device, each kind in ascending "
                                   "micro-batch order");
    }
    if (taken > 0) return;
    if (!forward_only && takes_evaluation()) throw Skip("it is for evaluation alone: " + refusal);
    if (forward_only) throw Skip("it refuses evaluation: " + refusal);
    throw Fault("it refuses every setting: " + refusal, "accept at least one stage for each device");
  }

  bool takes_evaluation() const {
    for (const Setting& s : settings(true))
      if (ask(table_, s)) return true;
    return false;
  }

  /// Hand-overs between neighbouring stages, forward and back.
  static std::vector<Edge> edges_of(const Setting& s) {
    std::vector<Edge> edges;
    const int n = static_cast<int>(s.device_of_stage.size());
    for (const bool back : {false, true})
      for (int i = 0; i + 1 < n; ++i) {
        Edge e;
        e.index = static_cast<int>(edges.size());
        e.backward = back;
        e.layer = i;
        e.use = {i + 1, 0};
        e.from = back ? i + 1 : i, e.to = back ? i : i + 1;
        e.bytes = 1;
        edges.push_back(e);
      }
    return edges;
  }

  void ends() const {
    for (const Setting& s : settings(false)) {
      const std::optional<Programs> programs = ask(table_, s);
      if (!programs) continue;
      std::vector<Edge> edges = edges_of(s);
      try {
        choose_capacities(*programs, stages_of(s), edges, s.micro_batches);
      } catch (const Error& e) {
        throw Fault("with " + s.text + ", devices wait for each other for ever: " + e.what(),
                    "order each device's actions so that what it waits for does not wait for it");
      }
    }
  }

  void deterministic() const {
    const ChosenSchedule one = made(table_);
    for (const Setting& s : settings(false)) {
      const std::optional<Programs> first = ask(one, s);
      if (first != ask(one, s) || first != ask(table_, s))
        throw Fault("with " + s.text + ", the same question gets two answers",
                    "let the list follow from the question and the options alone");
    }
  }

  std::string face(const Value& table) const {
    std::string text;
    for (const Setting& s : settings(false)) {
      try {
        const std::optional<Programs> programs = ask(table, s);
        text += programs ? "" : "refused";
        if (programs)
          for (const auto& program : *programs)
            for (const Action& a : program)
              text += kind_letter(a.kind) + std::to_string(a.stage) + "." + std::to_string(a.micro_batch) + " ";
      } catch (const Error& e) {
        return std::string("refused: ") + e.what();
      }
    }
    return text;
  }

  const Surroundings before_;
  const sy_schedule_api& api_;
  Value table_;
};

}  // namespace

void check_schedule(const sy_schedule_api& api, const Request& request, Subject& subject, const Listener& listener) {
  Inspection inspection(subject, listener);
  if (listener.on_line) listener.on_line(heading(subject));
  ScheduleChecks(api, request).run(inspection);
}

}  // namespace switchyard::checks
