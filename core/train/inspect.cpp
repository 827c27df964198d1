#include "train/inspect.hpp"

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/initial.hpp"
#include "report/progress.hpp"
#include "report/text_table.hpp"
#include "store/checkpoint.hpp"
#include "store/tensor_files.hpp"
#include "train/batch_spec.hpp"
#include "train/session.hpp"
#include "train/sha256.hpp"
#include "train/weights.hpp"

namespace switchyard {
namespace {

/// Sums over the rows, and the hash of all.
void add_totals(Inventory& inventory) {
  std::map<std::string, std::string> hashes;
  for (const TensorRow& row : inventory.tensors) {
    if (!row.alias_of.empty()) continue;
    const std::int64_t count = element_count(row.shape);
    (row.kind == "buffer" ? inventory.buffers : inventory.parameters) += count;
    if (row.trainable) inventory.trainable += count;
    inventory.bytes += count * static_cast<std::int64_t>(dtype_bytes(row.dtype));
    hashes[row.name] = row.sha256;
  }
  std::string all;
  for (const auto& [name, hash] : hashes) all += name + " " + hash + "\n";
  inventory.sha256 = sha256(all);
}

/// A file without a configuration; nothing tells weights from buffers, except that weights are of a float type.
Inventory inspect_file(const std::string& path) {
  const TensorFiles files = TensorFiles::open(path);
  Inventory inventory;
  for (const auto& [name, place] : files.tensors()) {
    TensorRow row;
    row.name = name;
    row.shape = place.tensor->shape;
    row.dtype = place.tensor->dtype;
    row.kind = "tensor";
    row.sha256 = sha256(place.file->bytes(*place.tensor));
    place.file->release(*place.tensor);
    inventory.tensors.push_back(std::move(row));
  }
  add_totals(inventory);
  return inventory;
}

/// What the engine draws for a parameter, in the type in which a checkpoint holds it.
std::vector<std::byte> first_value(const Parameter& p, std::uint64_t seed, sy_dtype as) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(p.count()) * dtype_bytes(as));
  if (!is_float(as)) return bytes;  // counters and the like begin at zero
  std::vector<float> drawn(static_cast<std::size_t>(p.count()));
  draw_initial(Distribution::parse(p.init), seed, p.name, drawn);
  convert(drawn.data(), dtype::f32, bytes.data(), as, drawn.size());
  return bytes;
}

/// A model on its planned devices.
class ModelInspection {
 public:
  ModelInspection(const Subject& subject, Registry& registry) : config_(subject.config) {
    model_ = open_model(config_, registry, false).model;
    plan_ = make_plan(config_, registry, *model_);
    if (!subject.run.empty())
      weights_ = assign_checkpoint(*model_, open_checkpoint(subject.run).paths.model);
    else if (config_.model.weights)
      weights_ = assign_weights(*model_, *config_.model.weights);
  }

  Inventory run() {
    std::vector<std::int64_t> parameters(plan_.devices.size());
    for (const Parameter& p : model_->parameters()) {
      if (p.kind != SY_WEIGHT && p.kind != SY_BUFFER) continue;
      const int device = plan_.device_of_layer(p.layer);
      inventory_.tensors.push_back(row(p));
      inventory_.tensors.back().device = plan_.devices[device].name;
      const bool shared = p.is_tied() && plan_.device_of_layer(model_->parameters()[p.owner].layer) == device;
      if (p.kind == SY_WEIGHT && !shared) parameters[device] += p.count();
    }
    for (std::size_t d = 0; d < parameters.size(); ++d)
      inventory_.devices.push_back({plan_.devices[d].name, parameters[d]});
    add_totals(inventory_);
    return std::move(inventory_);
  }

 private:
  TensorRow row(const Parameter& p) {
    TensorRow row;
    row.name = p.name;
    row.shape = p.shape;
    row.kind = p.kind == SY_BUFFER ? "buffer" : "weight";
    row.trainable = p.trainable;
    if (p.is_tied()) {
      const std::string& owner = model_->parameters()[p.owner].name;
      const auto same = std::find_if(inventory_.tensors.begin(), inventory_.tensors.end(),
                                     [&](const TensorRow& each) { return each.name == owner; });
      row.alias_of = owner;
      row.dtype = same->dtype;
      row.sha256 = same->sha256;
      return row;
    }
    // As Pipe::stored_dtype has it: trained weights are kept as fp32, whatever calls see.
    row.dtype = p.trainable ? dtype::f32 : p.dtype;
    const TensorPlace* at = nullptr;
    if (weights_)
      if (const auto found = weights_->tensors.find(p.name); found != weights_->tensors.end()) at = &found->second;
    row.sha256 = sha256(at ? read_tensor(*at->file, *at->tensor, row.dtype)
                           : first_value(p, static_cast<std::uint64_t>(config_.seed), row.dtype));
    return row;
  }

  const Config& config_;
  std::unique_ptr<Model> model_;
  Plan plan_;
  std::optional<AssignedWeights> weights_;
  Inventory inventory_;
};

bool is_tensor_file(const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  if (path.ends_with(".safetensors") || path.ends_with(".safetensors.index.json")) return true;
  if (!fs::is_directory(path, ignored) || fs::exists(path + "/config.toml", ignored)) return false;
  return fs::exists(path + "/model.safetensors", ignored) ||
         fs::exists(path + "/model.safetensors.index.json", ignored);
}

nlohmann::ordered_json row_json(const TensorRow& row) {
  nlohmann::ordered_json json;
  json["name"] = row.name;
  json["shape"] = row.shape;
  json["dtype"] = dtype_name(row.dtype);
  json["kind"] = row.kind;
  if (row.kind != "tensor") json["trainable"] = row.trainable;
  if (!row.device.empty()) json["device"] = row.device;
  if (!row.alias_of.empty()) json["alias_of"] = row.alias_of;
  json["sha256"] = row.sha256;
  return json;
}

}  // namespace

Inventory inspect(const std::string& path, const std::vector<std::string>& sets, Registry* registry) {
  if (is_tensor_file(path)) return inspect_file(path);
  const Subject subject = open_subject(path, sets);
  std::unique_ptr<Registry> own;
  if (!registry) own = open_registry(subject.config);
  return inspect(subject, registry ? *registry : *own);
}

Inventory inspect(const Subject& subject, Registry& registry) { return ModelInspection(subject, registry).run(); }

std::string inventory_json(const Inventory& inventory) {
  nlohmann::ordered_json json;
  json["tensors"] = nlohmann::ordered_json::array();
  for (const TensorRow& row : inventory.tensors) json["tensors"].push_back(row_json(row));
  json["devices"] = nlohmann::ordered_json::array();
  for (const DeviceRow& row : inventory.devices)
    json["devices"].push_back({{"device", row.device}, {"parameters", row.parameters}});
  json["parameters"] = inventory.parameters;
  json["trainable"] = inventory.trainable;
  json["buffers"] = inventory.buffers;
  json["bytes"] = inventory.bytes;
  json["sha256"] = inventory.sha256;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string inventory_text(const Inventory& inventory) {
  const Align left = Align::left;
  TextTable table({left, left, left, left, left, left, left},
                  {"name", "shape", "type", "kind", "device", "alias of", "sha256"});
  for (const TensorRow& row : inventory.tensors) {
    const bool frozen = row.kind == "weight" && !row.trainable;
    table.add({row.name, shape_text(row.shape), dtype_name(row.dtype), frozen ? "frozen" : row.kind, row.device,
               row.alias_of, row.sha256});
  }
  std::string text = table.text();
  for (const DeviceRow& row : inventory.devices)
    text += row.device + ": " + std::to_string(row.parameters) + " parameters\n";
  text += std::to_string(inventory.parameters) + " parameters, " + std::to_string(inventory.trainable) +
          " trainable, " + std::to_string(inventory.buffers) + " elements of buffers, " + bytes_text(inventory.bytes) +
          "; sha256 " + inventory.sha256 + "\n";
  return text;
}

}  // namespace switchyard
