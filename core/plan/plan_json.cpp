// The plan as data for other programs; README.md describes every key.
#include <nlohmann/json.hpp>

#include "plan/choose.hpp"
#include "plan/layer_list.hpp"
#include "plan/plan.hpp"
#include "plan/program.hpp"

namespace switchyard {

namespace {

using Json = nlohmann::ordered_json;

Json memory_json(const DeviceMemory& m) {
  return {{"weights", m.weights}, {"masters", m.masters},         {"gradients", m.gradients}, {"states", m.states},
          {"edges", m.edges},     {"activations", m.activations}, {"peak", m.peak()}};
}

/// Elements of the weights whose values lie on a device; a tied table lies with its owner.
int64_t parameters_on(const Plan& plan, const Model& model, int d) {
  int64_t n = 0;
  for (const Parameter& p : model.parameters())
    if (p.kind == SY_WEIGHT && !p.is_tied() && plan.device_of_layer(p.layer) == d) n += p.count();
  return n;
}

Json device_json(const Plan& plan, const Model& model, int d) {
  const PlanDevice& device = plan.devices[d];
  Json json = {{"index", d}, {"name", device.name},       {"replica", 0},
               {"shard", 0}, {"threads", device.threads}, {"node", plan.links.seat(d).host}};
  if (!device.maker_name.empty()) json["maker_name"] = device.maker_name;
  if (!device.bus_id.empty()) json["bus_id"] = device.bus_id;
  if (device.budget != no_budget) json["budget"] = device.budget;
  if (device.flops > 0) json["flops"] = device.flops;
  json["stages"] = Json::array();
  for (const Stage& s : plan.stages)
    if (s.device == d) json["stages"].push_back(s.index);
  json["layers"] = layers_of_device(plan, model, d);
  json["parameters"] = parameters_on(plan, model, d);
  json["memory"] = memory_json(plan.memory[d]);
  json["program"] = Json::array();
  for (const Action& a : plan.train[d]) json["program"].push_back({kind_letter(a.kind), a.stage, a.micro_batch});
  return json;
}

Json stage_json(const Plan& plan, const Model& model, const Stage& s) {
  Json json = {{"index", s.index}, {"device", plan.devices[s.device].name}, {"layers", Json::array()}};
  for (int l = s.first; l <= s.last; ++l) json["layers"].push_back(model.layers()[l].name);
  json["forward_s"] = plan.times[s.index].forward;
  return json;
}

Json layer_json(const Plan& plan, const Layer& layer) {
  const LayerCost& c = plan.layer_costs[layer.index];
  return {{"index", layer.index},
          {"name", layer.name},
          {"type", layer.type},
          {"stage", plan.stage_of_layer[layer.index]},
          {"device", plan.devices[plan.device_of_layer(layer.index)].name},
          {"recompute", static_cast<bool>(plan.recompute[layer.index])},
          {"cost",
           {{"flops_forward", c.flops_forward},
            {"flops_input", c.flops_input},
            {"flops_weight", c.flops_weight},
            {"forward_s", c.times.forward},
            {"input_s", c.times.input},
            {"weight_s", c.times.weight},
            {"saved", c.saved},
            {"workspace", c.workspace}}}};
}

Json edge_json(const Plan& plan, const Model& model, const Edge& e) {
  Json json = {{"index", e.index},
               {"direction", e.backward ? "backward" : "forward"},
               {"layer", model.layers()[e.layer].name},
               {"output", e.output}};
  if (e.backward) json["use"] = {{"layer", model.layers()[e.use.layer].name}, {"input", e.use.slot}};
  json["from"] = e.from;
  json["to"] = e.to;
  json["bytes"] = e.bytes;
  json["capacity"] = e.capacity;
  json["path"] = plan.links.between(plan.stages[e.from].device, plan.stages[e.to].device).path;
  if (e.capacity > 0) json["travel_s"] = e.seconds;
  return json;
}

Json transfers_json(const Plan& plan) {
  uint64_t forward = 0, backward = 0;
  for (const Edge& e : plan.edges)
    if (e.capacity > 0) (e.backward ? backward : forward) += e.bytes;
  return {{"forward", hand_overs(plan, false)},
          {"backward", hand_overs(plan, true)},
          {"forward_bytes", forward},
          {"backward_bytes", backward}};
}

Json micro_batches_json(const Plan& plan) {
  Json rows = Json::array();
  for (const RowRange& r : plan.rows) rows.push_back(r.count);
  return {{"count", plan.micro_batches}, {"rows", rows}, {"passes", plan.accumulate}};
}

std::string line(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// A line for each key, and for each item of a list of objects, so that two plans can be compared by lines.
std::string one_line_each(const Json& json) {
  std::string text = "{";
  for (const auto& [key, value] : json.items()) {
    text += (text.size() > 1 ? ",\n \"" : "\n \"") + key + "\": ";
    if (!value.is_array() || value.empty() || !value[0].is_object()) {
      text += line(value);
      continue;
    }
    for (std::size_t i = 0; i < value.size(); ++i) text += (i ? ",\n  " : "[\n  ") + line(value[i]);
    text += "]";
  }
  return text + "\n}\n";
}

}  // namespace

std::string plan_json(const Plan& plan, const Model& model) {
  Json json = {{"format", 1},
               {"parameters", model.weight_count()},
               {"policy", plan.policy},
               {"schedule", plan.schedule},
               {"why", plan.why},
               {"batch", plan.batch},
               {"micro_batches", micro_batches_json(plan)},
               {"optimizer_states", plan.state_names}};
  if (!plan.machine.empty()) json["machine"] = {{"name", plan.machine}, {"about", plan.about}};
  for (const char* list : {"devices", "stages", "layers", "edges"}) json[list] = Json::array();
  for (std::size_t d = 0; d < plan.devices.size(); ++d)
    json["devices"].push_back(device_json(plan, model, static_cast<int>(d)));
  for (const Stage& s : plan.stages) json["stages"].push_back(stage_json(plan, model, s));
  for (const Layer& layer : model.layers()) json["layers"].push_back(layer_json(plan, layer));
  for (const Edge& e : plan.edges) json["edges"].push_back(edge_json(plan, model, e));
  json["transfers"] = transfers_json(plan);
  json["prediction"] = {{"step_s", plan.prediction.step_s},
                        {"update_s", plan.prediction.update_s},
                        {"idle", plan.prediction.idle},
                        {"basis", basis_name(plan.basis())}};
  const std::string blocked = blocking_deadlock(plan.train, plan.stages, plan.edges);
  if (!blocked.empty()) json["unbuffered"] = blocked;
  json["warnings"] = plan.warnings;
  json["notes"] = plan.notes;
  if (!plan.tried.empty()) json["tried"] = Json::parse(trials_json(plan.tried));
  return one_line_each(json);
}

}  // namespace switchyard
