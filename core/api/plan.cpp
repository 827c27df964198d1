// Plans: computed, printed, read out.
#include "plan/plan.hpp"

#include "api/call.hpp"
#include "api/handle.hpp"
#include "measure/measure.hpp"
#include "plan/choose.hpp"
#include "train/batch_spec.hpp"

using namespace switchyard;
using namespace switchyard::api;

sy_rc sy_plan_make(sy_runtime* runtime, sy_plan** give, sy_error** err) {
  return guard(err, [&] {
    auto plan = std::make_unique<sy_plan>();
    plan->state = alive(runtime).state;
    need(give, "give");
    const Subject& subject = plan->state->configured();
    plan->session = Session::open(subject.config, *plan->state->registry, Purpose::plan, subject.run);
    give_handle(give, std::move(plan));
  });
}

void sy_plan_free(sy_plan* take) { close_handle(take); }

sy_rc sy_plan_measure(sy_plan* plan, sy_error** err) {
  return guard(err, [&] { alive(plan).session->measure(); });
}

sy_rc sy_plan_text(sy_plan* plan, char** give_text_, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    give_text(need(give_text_, "give_text"), session.plan_text());
  });
}

sy_rc sy_plan_json(sy_plan* plan, char** give_json, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    give_text(need(give_json, "give_json"), session.plan_json());
  });
}

sy_rc sy_plan_html(sy_plan* plan, char** give_html, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    give_text(need(give_html, "give_html"), session.plan_html());
  });
}

sy_rc sy_plan_trace(sy_plan* plan, char** give_json, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    give_text(need(give_json, "give_json"), session.plan_trace());
  });
}

sy_rc sy_plan_sweep(sy_runtime* runtime, int32_t measure, char** give_text_, char** give_json, char** give_svg,
                    sy_error** err) {
  return guard(err, [&] {
    const RuntimeState& state = *alive(runtime).state;
    const Config& config = state.configured().config;
    const ModelAndData opened = open_model(config, *state.registry, false);
    const PlanMachine machine = resolve_machine(config, *state.registry);
    const std::vector<Combination> all = all_choices(config, *state.registry, machine.devices.size());
    Model& model = *opened.model;
    std::vector<Trial> trials = try_all(config, *state.registry, model, machine, all);
    if (measure && trials.at(0).fits) {
      const Config best = settled(config, trials[0].what);
      measure_into_file(config, *state.registry, model, make_plan(best, *state.registry, model),
                        micro_batch_sizes(config, all));
      trials = try_all(config, *state.registry, model, machine, all);
    }
    if (give_text_) give_text(give_text_, trials_text(trials));
    if (give_json) give_text(give_json, trials_json(trials));
    if (give_svg) give_text(give_svg, trials_svg(trials, config.file));
  });
}

sy_rc sy_plan_schedule(sy_plan* plan, char** give_text_, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    give_text(need(give_text_, "give_text"), session.schedule_text());
  });
}

sy_rc sy_plan_stage_of_layer(sy_plan* plan, int32_t* out, uint32_t capacity, uint32_t* count, sy_error** err) {
  return guard(err, [&] { give_list(alive(plan).session->plan().stage_of_layer, out, capacity, count); });
}

sy_rc sy_plan_device_of_stage(sy_plan* plan, int32_t* out, uint32_t capacity, uint32_t* count, sy_error** err) {
  return guard(err, [&] {
    std::vector<int32_t> devices;
    for (const Stage& stage : alive(plan).session->plan().stages) devices.push_back(stage.device);
    give_list(devices, out, capacity, count);
  });
}

namespace {

/// The number of one item of a list whose end is SY_E_RANGE.
template <class List>
const auto& item(const List& list, uint32_t index, const char* what) {
  if (index >= list.size())
    throw Error(SY_E_RANGE, std::string(what) + " " + std::to_string(index) + " of " + std::to_string(list.size()));
  return list[index];
}

}  // namespace

sy_rc sy_plan_layer_name(sy_plan* plan, uint32_t layer, const char** lend, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    *need(lend, "lend") = item(session.model().layers(), layer, "layer").name.c_str();
  });
}

sy_rc sy_plan_device_name(sy_plan* plan, uint32_t device, const char** lend, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(plan).session;
    *need(lend, "lend") = item(session.plan().devices, device, "device").name.c_str();
  });
}
