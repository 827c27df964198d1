#include "schedule/find_fault.hpp"

#include <array>

#include "switchyard/schedule.h"

namespace switchyard {

namespace {

/// Counts what each stage did so far.
class OrderCheck {
 public:
  explicit OrderCheck(const Task& task) : task_(task), next_(task.stages.size()) {}

  /// What is wrong with the next action of a device; empty: nothing.
  std::string take(int device, const Action& a) {
    std::string wrong = not_here(device, a);
    if (wrong.empty()) wrong = out_of_order(a);
    if (wrong.empty()) next_[a.stage][a.kind] = a.micro_batch + 1;
    return wrong;
  }

  /// The first action that a stage lacks at the end; nothing: it is complete.
  std::optional<Action> missing(const Stage& stage) const {
    const auto& next = next_[stage.index];
    std::vector<uint32_t> kinds = {SY_ACT_F};
    if (!task_.forward_only && next[SY_ACT_I] > 0) kinds.insert(kinds.end(), {SY_ACT_I, SY_ACT_W});
    if (!task_.forward_only && next[SY_ACT_I] == 0) kinds.push_back(SY_ACT_B);
    for (const uint32_t kind : kinds)
      if (next[kind] < task_.micro_batches) return Action{kind, stage.index, next[kind]};
    return std::nullopt;
  }

 private:
  std::string not_here(int device, const Action& a) const {
    const std::string text = action_text(a);
    if (a.kind < SY_ACT_F || a.kind > SY_ACT_R) return "unknown action " + std::to_string(a.kind);
    if (a.stage < 0 || a.stage >= static_cast<int>(task_.stages.size()))
      return text + ": there is no such stage; the placement has " + std::to_string(task_.stages.size());
    if (task_.stages[a.stage].device != device)
      return text + ": the stage lies on device " + std::to_string(task_.stages[a.stage].device);
    if (a.micro_batch < 0 || a.micro_batch >= task_.micro_batches)
      return text + ": there is no such micro-batch; schedule.micro_batches gives " +
             std::to_string(task_.micro_batches);
    return "";
  }

  std::string out_of_order(const Action& a) const {
    const std::string text = action_text(a);
    const auto& next = next_[a.stage];
    const int i = a.micro_batch;
    const bool backward = a.kind == SY_ACT_B || a.kind == SY_ACT_I;
    if (task_.forward_only && a.kind != SY_ACT_F) return text + " in a forward-only program";
    if (a.kind == SY_ACT_R ? i < next[SY_ACT_R] : i != next[a.kind])
      return text +
             (i < next[a.kind] ? " comes a second time, or after a later one"
                               : ": micro-batch " + std::to_string(next[a.kind]) + " is next") +
             "; each stage takes micro-batches in ascending order";
    if ((backward || a.kind == SY_ACT_R) && next[SY_ACT_F] <= i) return text + " comes before its F";
    if (a.kind == SY_ACT_R && (next[SY_ACT_B] > i || next[SY_ACT_I] > i)) return text + " comes after its backward";
    if (a.kind == SY_ACT_B && next[SY_ACT_I] > 0) return text + ": the stage mixes B with I and W";
    if (a.kind == SY_ACT_I && next[SY_ACT_B] > 0) return text + ": the stage mixes B with I and W";
    if (a.kind == SY_ACT_W && next[SY_ACT_I] <= i) return text + " comes before its I";
    if (a.kind == SY_ACT_I && !task_.splits[a.stage])
      return text + ": no layer of the stage splits its backward; B is wanted";
    return "";
  }

  const Task& task_;
  std::vector<std::array<int, SY_ACT_R + 1>> next_;  // per stage and kind: the micro-batch that is next
};

}  // namespace

std::optional<ProgramFault> find_fault(const Task& task, const std::vector<std::vector<Action>>& programs) {
  OrderCheck check(task);
  for (std::size_t d = 0; d < programs.size(); ++d)
    for (std::size_t p = 0; p < programs[d].size(); ++p) {
      const std::string wrong = check.take(static_cast<int>(d), programs[d][p]);
      if (!wrong.empty()) return ProgramFault{static_cast<int>(d), p, wrong};
    }
  for (const Stage& s : task.stages)
    if (const auto a = check.missing(s))
      return ProgramFault{s.device, programs[s.device].size(), action_text(*a) + " is missing"};
  return std::nullopt;
}

}  // namespace switchyard
