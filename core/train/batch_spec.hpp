// What samples look like, and the samples: what [model] and [data] say together.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "config/config.hpp"
#include "data/data_set.hpp"
#include "model/model.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

/// [data] as core/data takes it; vocabulary, ids and targets, which follow from the model, are left open. SY_E_CONFIG
/// at its place when tokens have no length. The configuration has [data].
DataOptions data_options(const Config& config);

/// Tokens in a row: model.context, or the length of a model.input of ids; nothing: this is no token model.
std::optional<std::int64_t> token_context(const Config& config);

/// One sample as [model] alone tells it: model.input, or model.context tokens with as many targets; nothing: it does
/// not.
std::optional<BatchSpec> spec_of_model(const Config& config);
/// One sample of a source.
BatchSpec spec_of_source(const DataSource& source, std::int64_t ignore);

/// A model, and the samples that fit it.
struct ModelAndData {
  std::unique_ptr<Model> model;
  std::optional<DataSet> data;  // nothing: it was not asked for
};

/// Creates the model. `with_data`: opens [data]; otherwise its files are only read where nothing else tells what a
/// sample looks like. Where the data leave open what they mean (whole numbers: ids, classes or values?), the layers
/// decide. Errors: SY_E_CONFIG placed (no [data] although it is asked for; nothing tells what a sample looks like;
/// model.input is not what the data hold), those of Model::create and open_data. [ctl]
ModelAndData open_model(const Config& config, Registry& registry, bool with_data);

}  // namespace switchyard
