#include "plan/measured.hpp"

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/dtype.hpp"
#include "config/toml.hpp"
#include "plugin/version.hpp"
#include "store/atomic_file.hpp"

namespace switchyard {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

std::string link_key(const std::string& from, const std::string& to) { return from + " to " + to; }

Json layer_json(const MeasuredLayer& m) {
  return {{"forward_s", m.forward}, {"input_s", m.input},       {"weight_s", m.weight},
          {"saved", m.saved},       {"workspace", m.workspace}, {"workspace_backward", m.workspace_backward}};
}

MeasuredLayer layer_of(const Json& json) {
  return {json.at("forward_s"), json.at("input_s"),   json.at("weight_s"),
          json.at("saved"),     json.at("workspace"), json.at("workspace_backward")};
}

std::string ports_text(const std::vector<Port>& ports) {
  std::string text;
  for (const Port& port : ports) {
    text += (text.empty() ? "" : ", ") + std::string(dtype_name(port.dtype));
    for (std::size_t i = 0; i < port.shape.size(); ++i) text += (i ? " x " : " ") + std::to_string(port.shape[i]);
  }
  return text;
}

}  // namespace

MeasuredCosts MeasuredCosts::read(const std::string& file) {
  MeasuredCosts costs;
  std::ifstream stream(file);
  if (!stream) return costs;
  try {
    const Json json = Json::parse(stream);
    if (json.at("format") != 1 || json.at("program") != SWITCHYARD_VERSION) return costs;
    for (const auto& [device, of] : json.at("devices").items()) {
      OfDevice& to = costs.devices_[device];
      for (const auto& [optimizer, seconds] : of.at("update_s").items()) to.updates[optimizer] = seconds;
      for (const auto& [layer, measured] : of.at("layers").items()) to.layers[layer] = layer_of(measured);
    }
    for (const auto& [pair, link] : json.at("links").items())
      costs.links_[pair] = {link.at("bytes_per_s"), link.at("latency_s")};
  } catch (const nlohmann::json::exception& e) {
    throw Error(SY_E_CONFIG, {file, 0, 0},
                std::string("these are no measured costs (") + e.what() +
                    "); delete the file, or replace it with plan --measure");
  }
  return costs;
}

void MeasuredCosts::write(const std::string& file) const {
  Json json = {{"format", 1}, {"program", SWITCHYARD_VERSION}, {"devices", Json::object()}, {"links", Json::object()}};
  for (const auto& [device, of] : devices_) {
    Json& to = json["devices"][device] = {{"update_s", of.updates}, {"layers", Json::object()}};
    for (const auto& [layer, measured] : of.layers) to["layers"][layer] = layer_json(measured);
  }
  for (const auto& [pair, link] : links_)
    json["links"][pair] = {{"bytes_per_s", link.bytes_per_s}, {"latency_s", link.latency_s}};
  write_file_atomically(file, json.dump(1) + "\n");
}

const MeasuredLayer* MeasuredCosts::layer(const std::string& device, const std::string& layer) const {
  const auto of = devices_.find(device);
  if (of == devices_.end()) return nullptr;
  const auto found = of->second.layers.find(layer);
  return found == of->second.layers.end() ? nullptr : &found->second;
}

std::optional<double> MeasuredCosts::update(const std::string& device, const std::string& optimizer) const {
  const auto of = devices_.find(device);
  if (of == devices_.end()) return std::nullopt;
  const auto found = of->second.updates.find(optimizer);
  return found == of->second.updates.end() ? std::nullopt : std::optional(found->second);
}

const MeasuredLink* MeasuredCosts::link(const std::string& from, const std::string& to) const {
  const auto found = links_.find(link_key(from, to));
  return found == links_.end() ? nullptr : &found->second;
}

void MeasuredCosts::set_layer(const std::string& device, const std::string& layer, const MeasuredLayer& costs) {
  devices_[device].layers[layer] = costs;
}

void MeasuredCosts::set_update(const std::string& device, const std::string& optimizer, double seconds) {
  devices_[device].updates[optimizer] = seconds;
}

void MeasuredCosts::set_link(const std::string& from, const std::string& to, const MeasuredLink& link) {
  links_[link_key(from, to)] = link;
}

std::string costs_file(const Config& config) {
  return (fs::path(config.folder) / fs::path(config.file).filename().replace_extension(".costs.json")).string();
}

std::string device_key(const PlanDevice& device) {
  if (device.device.type != SY_DEVICE_CPU) return device.maker_name;
  return device.maker_name + ", " + std::to_string(device.threads) + (device.threads == 1 ? " thread" : " threads");
}

std::string layer_key(const Config& config, const Layer& layer, const Shapes& shapes) {
  const LayerEntry& entry = config.layers[layer.index];
  std::string text = layer.type + " " + write_toml_value(*entry.options) + " of " + ports_text(shapes.in[layer.index]) +
                     " to " + ports_text(shapes.out[layer.index]) + " in " + dtype_name(layer.compute) +
                     (config.precision.tf32 ? ", tf32" : "") + ", gradients ";
  for (const bool wanted : layer.wants) text += wanted ? "1" : "0";
  return text + (layer.trains ? ", trained" : "");
}

}  // namespace switchyard
