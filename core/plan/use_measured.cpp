#include "plan/use_measured.hpp"

#include <algorithm>
#include <filesystem>

namespace switchyard {

namespace {

/// The devices of a plan by what makes them alike.
struct Kinds {
  std::vector<int> of_device;      // -1: not here
  std::vector<std::string> names;  // device_key of each kind
};

Kinds kinds_of(const Plan& plan) {
  Kinds kinds;
  for (const PlanDevice& d : plan.devices) {
    if (!d.backend) {
      kinds.of_device.push_back(-1);
      continue;
    }
    const std::string key = device_key(d);
    const auto found = std::find(kinds.names.begin(), kinds.names.end(), key);
    kinds.of_device.push_back(static_cast<int>(found - kinds.names.begin()));
    if (found == kinds.names.end()) kinds.names.push_back(key);
  }
  return kinds;
}

struct Found {
  std::vector<const MeasuredLayer*> layers;  // null: not measured
  int missing = 0, first_missing = -1;
};

Found find(const MeasuredCosts& measured, const std::string& device, const std::vector<std::string>& layers) {
  Found found;
  for (const std::string& key : layers) {
    found.layers.push_back(measured.layer(device, key));
    if (found.layers.back()) continue;
    if (found.missing++ == 0) found.first_missing = static_cast<int>(found.layers.size()) - 1;
  }
  return found;
}

std::string missing_note(const Config& config, const Model& model, const std::string& device, const Found& found) {
  return std::filesystem::path(costs_file(config)).filename().string() + " does not know " +
         std::to_string(found.missing) + " of " + std::to_string(found.layers.size()) + " layers on " + device +
         " as they are now, the first is " + model.layers()[found.first_missing].text() + "; plan --measure times them";
}

void take_bytes(const std::vector<const MeasuredLayer*>& layers, bool first, std::vector<sy_cost>& costs) {
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const MeasuredLayer& m = *layers[l];
    sy_cost& c = costs[l];
    c.bytes_saved = first ? m.saved : std::max(c.bytes_saved, m.saved);
    c.bytes_workspace = first ? m.workspace : std::max(c.bytes_workspace, m.workspace);
    c.bytes_workspace_backward =
        first ? m.workspace_backward : std::max(c.bytes_workspace_backward, m.workspace_backward);
  }
}

void use_links(const MeasuredCosts& measured, const Kinds& kinds, Links& links) {
  std::map<std::pair<int, int>, Links::Figures> figures;
  for (std::size_t a = 0; a < kinds.names.size(); ++a)
    for (std::size_t b = 0; b < kinds.names.size(); ++b)
      if (const MeasuredLink* link = measured.link(kinds.names[a], kinds.names[b]))
        figures[{a, b}] = {link->bytes_per_s, link->latency_s};
  links.set_measured(kinds.of_device, std::move(figures));
}

}  // namespace

void use_measured(const Config& config, const MeasuredCosts& measured, const Model& model, const Shapes& shapes,
                  Plan& plan, LayerTimes& times, std::vector<sy_cost>& costs) {
  if (measured.empty()) return;
  std::vector<std::string> layers;
  for (const Layer& layer : model.layers()) layers.push_back(layer_key(config, layer, shapes));
  const Kinds kinds = kinds_of(plan);
  std::vector<int> complete = kinds.of_device;  // -1 where something is missing
  std::vector<std::vector<StageTimes>> all(kinds.names.size());
  bool first = true;
  for (std::size_t k = 0; k < kinds.names.size(); ++k) {
    const Found found = find(measured, kinds.names[k], layers);
    if (found.missing > 0) {
      std::replace(complete.begin(), complete.end(), static_cast<int>(k), -1);
      plan.notes.push_back(missing_note(config, model, kinds.names[k], found));
      continue;
    }
    for (const MeasuredLayer* m : found.layers) all[k].push_back({m->forward, m->input, m->weight});
    take_bytes(found.layers, std::exchange(first, false), costs);
  }
  const std::string optimizer = config.train ? config.train->optimizer.type : "";
  for (std::size_t d = 0; d < plan.devices.size(); ++d) {
    if (complete[d] < 0) continue;
    plan.devices[d].basis = Basis::measured;
    plan.devices[d].update_s = measured.update(kinds.names[complete[d]], optimizer).value_or(0);
  }
  times.set_measured(std::move(complete), std::move(all));
  use_links(measured, kinds, plan.links);
}

double update_seconds_by_memory(const PlanDevice& device, int states, int gradient_bytes, bool copied) {
  if (device.bytes_per_s <= 0) return 0;
  const int bytes =
      3 * gradient_bytes + 2 * 4 + 2 * 4 * states + (copied ? 2 : 0);  // cleared, read twice; read, written
  return bytes / device.bytes_per_s;
}

}  // namespace switchyard
