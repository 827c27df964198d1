#include "train/batch_spec.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "base/dtype.hpp"
#include "plan/plan.hpp"

namespace switchyard {
namespace {

using DataKind = DataConfig::Source;

bool gives_tokens(const DataConfig& data) {
  return data.source == DataKind::text || data.source == DataKind::synthetic;
}

BatchSpec token_spec(std::int64_t context, std::int64_t ignore) {
  return {{context}, id_dtype, Shape{context}, id_dtype, ignore};
}

std::int64_t ignore_of(const Config& config) { return config.data ? config.data->ignore : DataConfig().ignore; }

bool is_loss(const Config& config, Registry& registry, const std::string& name) {
  for (const LayerEntry& layer : config.layers)
    if (layer.name == name) return (registry.layer(layer.type).caps & SY_L_LOSS) != 0;
  return false;
}

/// Models over tokens predict as many targets, or one for each sample: whichever the loss takes.
std::unique_ptr<Model> create_from_model_table(const Config& config, Registry& registry, BatchSpec spec,
                                               std::int64_t rows) {
  try {
    return Model::create(config, registry, spec, rows);
  } catch (const Error& first) {
    const std::string* layer = first.note("layer");
    if (!spec.target_shape || !layer || !is_loss(config, registry, *layer)) throw;
    spec.target_shape.reset();
    try {
      return Model::create(config, registry, spec, rows);
    } catch (const Error&) {
      throw first;
    }
  }
}

/// Tokens need no look into files: the model comes first, since made-up tokens need its vocabulary.
ModelAndData open_tokens(const Config& config, Registry& registry, bool with_data, std::int64_t rows) {
  DataOptions options = data_options(config);
  ModelAndData opened;
  opened.model = Model::create(config, registry, token_spec(options.context, options.ignore), rows);
  if (!with_data) return opened;
  options.vocabulary = opened.model->shapes(SY_TRAIN, rows).batch_inputs.id_limit;
  if (config.data->source == DataKind::synthetic && options.vocabulary == 0)
    throw Error(SY_E_CONFIG, config.data->source_place,
                "data.synthetic = \"tokens\" needs a first layer with a vocabulary, such as embedding");
  opened.data = open_data(options);
  return opened;
}

void check_input(const Config& config, const InputSpec& found) {
  if (!config.model.input) return;
  const InputConfig& wanted = *config.model.input;
  if (wanted.shape != found.shape)
    throw Error(SY_E_CONFIG, wanted.place,
                "model.input.shape is " + shape_text(wanted.shape) + ", samples of [data] are " +
                    shape_text(found.shape) + "; leave model.input out to take what the data hold");
}

/// What to ask of the data after `layer` refused what they gave; false: nothing else to try.
bool reinterpret(DataOptions& options, const DataSet& refused, bool by_loss) {
  if (by_loss) {
    if (options.targets) return false;
    const bool values = refused.train->targets().kind == TargetKind::values;
    options.targets = values ? TargetKind::classes : TargetKind::values;
    return true;
  }
  if (options.ids || options.tensors.empty() || !(refused.train->inputs().dtype == id_dtype)) return false;
  options.ids = false;
  return true;
}

/// Tables and tensor files: their numbers are first taken as they look, then as the layers want them.
ModelAndData open_rows(const Config& config, Registry& registry, std::int64_t rows) {
  DataOptions options = data_options(config);
  if (config.model.input) {
    const auto type = dtype_from_name(config.model.input->type);
    if (!options.tensors.empty()) options.ids = type && is_integer(*type);
  }
  std::optional<Error> first;
  for (ModelAndData opened;;) {
    try {
      opened.data = open_data(options);
      check_input(config, opened.data->train->inputs());
      opened.model = Model::create(config, registry, spec_of_source(*opened.data->train, options.ignore), rows);
      return opened;
    } catch (const Error& e) {
      if (!first) first = e;
      const std::string* layer = e.note("layer");
      if (!layer || !opened.data) throw *first;
      if (!reinterpret(options, *opened.data, is_loss(config, registry, *layer))) throw *first;
    }
  }
}

[[noreturn]] void fail_unknown_sample(const Config& config) {
  throw Error(
      SY_E_CONFIG, config.model.place.file.empty() ? Place{config.file, 0, 0} : config.model.place,
      "nothing tells what a sample looks like; add [data], model.context = 256 (tokens), or model.input = { shape "
      "= [3, 32, 32], type = \"fp32\" }");
}

}  // namespace

DataOptions data_options(const Config& config) {
  const DataConfig& data = *config.data;
  DataOptions options;
  const std::string file = data.files.empty() ? "" : data.files[0].text;
  if (data.source == DataKind::text)
    for (const Placed& each : data.files) options.text.push_back(each.text);
  if (data.source == DataKind::table) options.table = file;
  if (data.source == DataKind::tensors) options.tensors = file;
  options.synthetic = data.synthetic;
  options.target = data.target;
  options.tokenizer = data.tokenizer.text;
  options.validation = data.validation;
  if (data.validation_file) options.validation_file = data.validation_file->text;
  options.shuffled = data.shuffled;
  options.drop_last = data.drop_last;
  options.ignore = data.ignore;
  options.seed = static_cast<std::uint64_t>(config.seed);
  options.place = data.place;
  options.context = token_context(config).value_or(0);
  if (gives_tokens(data) && options.context == 0)
    throw Error(SY_E_CONFIG, data.source_place,
                "[data] gives tokens, and nothing tells how many in a row; add model.context = 256");
  return options;
}

std::optional<std::int64_t> token_context(const Config& config) {
  if (config.model.context) return config.model.context;
  if (!config.model.input || config.model.input->shape.size() != 1) return std::nullopt;
  const auto type = dtype_from_name(config.model.input->type);
  if (!type || !is_integer(*type)) return std::nullopt;
  return config.model.input->shape[0];
}

std::optional<BatchSpec> spec_of_model(const Config& config) {
  const std::int64_t ignore = ignore_of(config);
  if (config.model.input) {
    const InputConfig& input = *config.model.input;
    const auto type = dtype_from_name(input.type);
    if (!type || !(is_integer(*type) || is_float(*type)))
      throw Error(SY_E_CONFIG, input.place, "model.input.type = \"" + input.type + "\": wanted \"fp32\" or \"int64\"");
    // Batches hold ids as int64 and numbers as fp32, whatever the file holds; the run's type is the layers' matter.
    if (!is_integer(*type)) return BatchSpec{input.shape, dtype::f32, {}, dtype::i64, ignore};
    if (input.shape.size() == 1) return token_spec(input.shape[0], ignore);
    return BatchSpec{input.shape, id_dtype, {}, dtype::i64, ignore};
  }
  if (config.model.context) return token_spec(*config.model.context, ignore);
  return std::nullopt;
}

BatchSpec spec_of_source(const DataSource& source, std::int64_t ignore) {
  const InputSpec inputs = source.inputs();
  const TargetSpec targets = source.targets();
  return {inputs.shape, inputs.dtype, targets.shape, targets.dtype, ignore};
}

ModelAndData open_model(const Config& config, Registry& registry, bool with_data) {
  const std::int64_t rows = micro_batch_rows(config)[0].count;
  if (with_data && !config.data)
    throw Error(SY_E_CONFIG, Place{config.file, 0, 0},
                "[data] is missing; add it with text = \"book.txt\", table, tensors or synthetic = \"tokens\"");
  if (config.data && gives_tokens(*config.data)) return open_tokens(config, registry, with_data, rows);
  if (with_data) return open_rows(config, registry, rows);
  if (const auto spec = spec_of_model(config))
    return {create_from_model_table(config, registry, *spec, rows), std::nullopt};
  if (!config.data) fail_unknown_sample(config);
  return {open_rows(config, registry, rows).model, std::nullopt};
}

}  // namespace switchyard
