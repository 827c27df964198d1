#include "model/builder.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "config/layer_names.hpp"
#include "config/nearest.hpp"
#include "model/initial.hpp"
#include "plugin/host.hpp"
#include "plugin/options.hpp"
#include "switchyard/random.h"

namespace switchyard {

void ModelBuilder::build(const BatchSpec& batch, int64_t rows) {
  model_.batch_ = batch;
  model_.run_type_ = precision_dtype(config_.precision.type);
  create_layers();
  errors_.raise();
  link();
  choose_precision();
  errors_.raise();
  infer_targets(batch, rows);
  declare_parameters();
  errors_.raise();
  mark_gradients(model_.shapes(SY_TRAIN, rows));
}

namespace {

/// A size that a tied layer leaves out (no value, or a default of 0) is that of the layer it is tied to.
LayerEntry with_sizes_of_owner(LayerEntry entry, const std::vector<LayerEntry>& all,
                               const std::vector<OptionSpec>& specs) {
  const Value* tied = entry.options->find("tied_to");
  if (!tied || !tied->is(Value::Kind::string)) return entry;
  const std::string& to = tied->string();
  const auto owner = std::find_if(all.begin(), all.end(),
                                  [&](const LayerEntry& e) { return to == e.name || to.starts_with(e.name + "."); });
  if (owner == all.end() || owner->index >= entry.index) return entry;
  Value filled = *entry.options;
  for (const OptionSpec& spec : specs) {
    const bool open = spec.type == SY_T_I64 && (!spec.fallback || spec.fallback->empty() || *spec.fallback == "0");
    const Value* theirs = owner->options->find(spec.key);
    if (open && theirs && !filled.find(spec.key)) filled.set(spec.key, *theirs);
  }
  entry.options = std::make_shared<const Value>(std::move(filled));
  return entry;
}

}  // namespace

void ModelBuilder::create_layers() {
  std::set<int> wrong;  // entries of the file whose options are wrong: said once, however often they repeat
  for (const LayerEntry& entry : config_.layers) {
    if (wrong.contains(entry.entry)) continue;
    Layer layer;
    layer.index = entry.index;
    layer.name = entry.name;
    layer.type = entry.type;
    layer.trainable = entry.trainable;
    layer.place = entry.place;
    layer.key = sy_hash_name(entry.name.c_str());
    try {
      layer.api = &registry_.layer(entry.type);
    } catch (const Error& e) {
      errors_.add(entry.type_place, describe_layer(entry) + ": " + e.what());
      wrong.insert(entry.entry);
      continue;
    }
    layer.plugin = registry_.plugin_of(layer.api);
    const sy_config checked{check_layer_options(with_sizes_of_owner(entry, config_.layers, options_of(*layer.api)),
                                                options_of(*layer.api), errors_)};
    if (!checked.options.sound()) {
      wrong.insert(entry.entry);
      continue;
    }
    try {
      call_plugin([&](sy_error** e) { return layer.api->create(host_table(), &checked, &layer.handle, e); });
    } catch (const Error& e) {
      errors_.add(entry.place, describe_layer(entry) + ": " + e.what());
      wrong.insert(entry.entry);
      continue;
    }
    model_.layers_.push_back(std::move(layer));
  }
}

void ModelBuilder::link() {
  for (Layer& layer : model_.layers_) {
    const LayerEntry& entry = config_.layers[layer.index];
    for (const LayerInput& in : entry.inputs) {
      Source from{in.layer, in.output, false};
      if (in.layer < 0) {
        if (in.batch != "inputs" && in.batch != "targets")
          errors_.add(in.place, layer.text() + ": the batch has 'batch.inputs' and 'batch.targets', not 'batch." +
                                    in.batch + "'");
        from.targets = in.batch == "targets";
      } else if (model_.layers_[in.layer].is_loss()) {
        errors_.add(in.place, layer.text() + ": the output of a loss cannot be an input");
      }
      layer.inputs.push_back(from);
    }
    if (!layer.is_loss()) continue;
    if (model_.loss_ >= 0)
      errors_.add(layer.place,
                  layer.text() + ": a model has one loss; " + model_.layers_[model_.loss_].text() + " is one already");
    model_.loss_ = layer.index;
    layer.inputs.push_back({-1, 0, true});
  }
  if (model_.loss_ < 0 && !model_.layers_.empty())
    errors_.add(model_.layers_.back().place, "the model has no loss; end it with cross_entropy, mse or lm_head");
}

void ModelBuilder::choose_precision() {
  const std::vector<bool> kept = match_any(config_.layers, config_.precision.keep_fp32, "precision.keep_fp32", errors_);
  for (Layer& layer : model_.layers_) {
    layer.kept = kept[layer.index] && !same_dtype(model_.run_type_, dtype::f32);
    layer.compute = layer.kept ? dtype::f32 : model_.run_type_;
  }
}

/// Targets that nobody described are what the loss takes: a class id for each vector of scores that enters it, else
/// numbers of its input's shape.
void ModelBuilder::infer_targets(const BatchSpec& batch, int64_t rows) {
  if (batch.target_shape) {
    model_.shapes(SY_TRAIN, rows);
    return;
  }
  const Source& scored = model_.layers_[model_.loss_].inputs[0];
  const Shapes before = model_.infer(SY_TRAIN, rows, batch.input_shape, model_.loss_);
  const Port entering = scored.layer < 0 ? before.batch_inputs : before.out[scored.layer].at(scored.output);
  const Shape sample(entering.shape.begin() + 1, entering.shape.end());
  const Shape ids(sample.begin(), sample.empty() ? sample.end() : sample.end() - 1);
  std::optional<Error> first;
  for (const auto& [shape, type] : {std::pair(ids, dtype::i64), std::pair(sample, dtype::f32)}) {
    model_.batch_.target_shape = shape;
    model_.batch_.target_dtype = type;
    try {
      model_.shapes(SY_TRAIN, rows);
      return;
    } catch (const Error& e) {
      if (!first) first = e;
      model_.shapes_.clear();
    }
  }
  throw *first;
}

void ModelBuilder::declare_parameters() {
  std::set<std::string> names;
  for (Layer& layer : model_.layers_) {
    for (uint32_t i = 0;; ++i) {
      sy_param spec{};
      spec.size = sizeof(spec);
      sy_error* error = nullptr;
      const sy_rc rc = layer.api->params(layer.handle, i, &spec, &error);
      if (rc == SY_E_RANGE && !error) break;
      try {
        if (rc != SY_OK) throw_plugin_error(rc, error);
      } catch (const Error& e) {
        throw in_planning(layer, e);
      }
      Parameter p = declare(layer, spec);
      if (!names.insert(p.name).second)
        errors_.add(layer.place, layer.text() + ": two parameters are called '" + p.name + "'");
      if (spec.tied_to && *spec.tied_to) tie(p, spec.tied_to);
      layer.trains = layer.trains || p.trainable;
      layer.parameters.push_back(p.index);
      model_.parameters_.push_back(std::move(p));
    }
  }
}

Parameter ModelBuilder::declare(const Layer& layer, const sy_param& spec) {
  Parameter p;
  p.index = static_cast<int>(model_.parameters_.size());
  p.layer = layer.index;
  p.name = layer.name + "." + (spec.name ? spec.name : "");
  p.kind = spec.kind;
  p.no_decay = spec.flags & SY_PARAM_NO_DECAY;
  p.trainable = spec.kind == SY_WEIGHT && layer.trainable;
  p.dtype = spec.dtype_class == SY_CLASS_COMPUTE ? layer.compute
            : spec.dtype_class == SY_CLASS_FP32  ? dtype::f32
                                                 : spec.dtype;
  if (spec.kind == SY_WEIGHT && !is_float(p.dtype))
    throw Error(SY_E_ABI, layer.text() + ": weight '" + p.name + "' is not of a float type");
  for (int32_t d = 0; d < spec.ndim && d < SY_MAX_DIMS; ++d) p.shape.push_back(spec.shape[d]);
  p.init = initial(layer, spec);
  return p;
}

/// The configured distribution replaces that of matrices and sets biases to zero; scales of norms, buffers and
/// accumulators keep what their layer declared.
std::string ModelBuilder::initial(const Layer& layer, const sy_param& spec) const {
  const std::string declared = spec.init ? spec.init : "zeros";
  const LayerEntry& entry = config_.layers[layer.index];
  std::string chosen = declared;
  if (entry.init != "default" && spec.kind == SY_WEIGHT) {
    const std::string name = spec.name ? spec.name : "";
    if (spec.ndim >= 2)
      chosen = entry.init;
    else if (name == "bias" || name.ends_with(".bias"))
      chosen = "zeros";
  }
  try {
    Distribution::parse(chosen);
  } catch (const Error& e) {
    throw Error(SY_E_CONFIG, entry.init_place, layer.text() + ": " + e.what());
  }
  return chosen;
}

void ModelBuilder::tie(Parameter& p, const std::string& to) {
  const Layer& layer = model_.layers_[p.layer];
  std::vector<int> found;
  std::vector<std::string> names;
  for (const Parameter& other : model_.parameters_) {
    if (other.kind != SY_WEIGHT) continue;
    names.push_back(other.name);
    const bool whole_layer = model_.layers_[other.layer].name == to && other.shape == p.shape;
    if (other.name == to || whole_layer) found.push_back(other.index);
  }
  if (found.size() != 1) {
    const std::optional<std::string> hint = nearest(to, names);
    errors_.add(layer.place, layer.text() + ": tied_to \"" + to + "\" names " +
                                 (found.empty() ? "no" : "more than one") + " earlier weight of shape " +
                                 shape_text(p.shape) + (hint ? "; did you mean \"" + *hint + "\"?" : ""));
    return;
  }
  const Parameter& owner = model_.parameters_[found[0]];
  if (owner.shape != p.shape || !same_dtype(owner.dtype, p.dtype)) {
    errors_.add(layer.place, layer.text() + ": '" + p.name + "' is " + shape_text(p.shape) + " " + dtype_name(p.dtype) +
                                 ", but the weight it is tied to, '" + owner.name + "', is " + shape_text(owner.shape) +
                                 " " + dtype_name(owner.dtype));
    return;
  }
  p.owner = owner.is_tied() ? owner.owner : owner.index;
}

/// Which inputs need gradients depends on the model alone, never on where it is cut.
void ModelBuilder::mark_gradients(const Shapes& shapes) {
  std::vector<std::vector<bool>> flows(model_.layers_.size());
  for (Layer& layer : model_.layers_) {
    bool any = layer.trains;
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const Source& from = layer.inputs[i];
      const bool wanted = from.layer >= 0 && flows[from.layer][from.output];
      layer.wants.push_back(wanted);
      any = any || wanted;
    }
    layer.uses.resize(shapes.out[layer.index].size());
    for (const Port& p : shapes.out[layer.index]) flows[layer.index].push_back(any && p.differentiable);
  }
  for (const Layer& layer : model_.layers_)
    for (std::size_t i = 0; i < layer.inputs.size(); ++i) {
      const Source& from = layer.inputs[i];
      if (from.layer < 0) continue;
      auto& uses = model_.layers_[from.layer].uses;
      uses[from.output].push_back({layer.index, static_cast<int>(i)});
    }
}

}  // namespace switchyard
