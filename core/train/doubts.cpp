#include "train/doubts.hpp"

#include <algorithm>

#include "data/micro_batches.hpp"
#include "generate/sampler.hpp"
#include "train/batch_spec.hpp"

namespace switchyard {
namespace {

/// A batch norm that takes its statistics from [rows, channels]: from one row it has none.
const Layer* norm_over_rows(Model& model, std::int64_t rows) {
  const Shapes& shapes = model.shapes(SY_TRAIN, rows);
  for (const Layer& layer : model.layers())
    if (layer.type.find("batchnorm") != std::string::npos && layer.trainable &&
        shapes.in[layer.index][0].shape.size() == 2)
      return &layer;
  return nullptr;
}

/// The last step of an epoch may be smaller, and its micro-batches with it.
void check_single_rows(Model& model, const Plan& plan, const DataSet& data) {
  const Layer* norm = norm_over_rows(model, plan.largest_micro_batch());
  if (!norm) return;
  const SampleOrder order = data.order(plan.batch);
  const std::int64_t last = order.steps_per_epoch();
  const auto smallest = [&](std::int64_t batch) {
    const std::int64_t pieces = static_cast<std::int64_t>(plan.micro_batches) * plan.accumulate;
    return split_rows(batch, std::min(batch, pieces)).back().count;
  };
  const std::int64_t usual = smallest(plan.batch), least = last > 0 ? smallest(order.size_of(last)) : usual;
  if (usual > 1 && least > 1) return;
  const std::string remedy = usual > 1 ? "data.drop_last = true leaves it out" : "make schedule.micro_batches smaller";
  throw Error(SY_E_CONFIG, norm->place,
              norm->text() + ": step " + std::to_string(usual > 1 ? last : 1) +
                  " has a micro-batch of 1 sample, and a batch norm in training needs 2; " + remedy);
}

void doubt_vocabulary(const Config& config, Model& model, const Plan& plan, const DataSet& data,
                      std::vector<std::string>& doubts) {
  const Shapes& shapes = model.shapes(SY_TRAIN, plan.largest_micro_batch());
  const std::int64_t ids = data.train->inputs().id_limit, limit = shapes.batch_inputs.id_limit;
  if (ids > limit && limit > 0)
    doubts.push_back(config.data->place.prefix() + "the data's ids may reach " + std::to_string(ids - 1) +
                     ", the model knows ids below " + std::to_string(limit) +
                     "; a batch with a larger one ends the run");
}

}  // namespace

std::vector<std::string> find_doubts(const Config& config, Model& model, const Plan& plan, const DataSet* data) {
  std::vector<std::string> doubts;
  const GenerateConfig& g = config.generate;
  Sampler::create({g.temperature, g.top_k, g.top_p, 0, 0});
  if (!data) return doubts;
  if (config.train) check_single_rows(model, plan, *data);
  doubt_vocabulary(config, model, plan, *data, doubts);
  if (!data->validation)
    doubts.push_back(config.data->place.prefix() + "data.validation = 0: no held-out loss is measured");
  return doubts;
}

}  // namespace switchyard
