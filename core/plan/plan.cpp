#include "plan/plan.hpp"

#include "plan/choose.hpp"
#include "plan/planner.hpp"
#include "plan/remarks.hpp"
#include "plan/remedies.hpp"

namespace switchyard {

Basis Plan::basis() const {
  Basis least = Basis::measured;
  for (const Stage& s : stages) least = std::min(least, devices[s.device].basis);
  for (const Edge& e : edges)
    if (e.capacity > 0) least = std::min(least, links.between(stages[e.from].device, stages[e.to].device).basis);
  return least;
}

std::vector<RowRange> micro_batch_rows(const Config& config) {
  const int64_t batch = config.train ? config.train->batch : config.schedule.micro_batches;
  const int64_t passes = config.train ? config.train->accumulate : 1;
  if (batch % passes != 0)
    throw Error(SY_E_CONFIG, config.train->batch_place,
                "train.batch = " + std::to_string(batch) +
                    " samples cannot be divided among train.accumulate = " + std::to_string(passes) + " passes");
  try {
    return split_rows(batch / passes, config.schedule.micro_batches);
  } catch (const Error& e) {
    throw Error(SY_E_CONFIG, config.schedule.micro_batches_place,
                "schedule.micro_batches = " + std::to_string(config.schedule.micro_batches) + " is more than the " +
                    std::to_string(batch / passes) + " samples of a pass (train.batch / train.accumulate)");
  }
}

Plan make_plan(const Config& config, Registry& registry, Model& model) {
  const PlanMachine machine = resolve_machine(config, registry);
  Plan plan;
  plan.machine = machine.name;
  plan.devices = machine.devices;
  try {
    if (leaves_a_choice(config)) return choose_plan(config, registry, model, machine);
    Planner planner(config, registry, model, machine);
    plan = planner.draft();
    if (plan.misfit_layer >= 0) throw misfit_error(config, model, plan);
    add_remarks(plan, model, planner);
    return plan;
  } catch (const Error& e) {
    if (e.code() != SY_E_INFEASIBLE) throw;
    throw with_remedies(e, config, model, plan, [&](const Config& other) {
      PlanMachine there = resolve_machine(other, registry);
      if (leaves_a_choice(other)) return choose_plan(other, registry, model, there);
      return Planner(other, registry, model, std::move(there)).draft();
    });
  }
}

Plan make_single_device_plan(const Config& config, Registry& registry, Model& model) {
  PlanMachine machine = resolve_machine(config, registry);
  machine.devices.resize(1);
  machine.devices[0].budget = no_budget;
  return Planner(config, registry, model, std::move(machine)).whole_draft();
}

}  // namespace switchyard
