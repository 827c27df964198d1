#include "train/evaluate.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <span>
#include <vector>

namespace switchyard {

double Evaluation::perplexity() const { return std::exp(loss); }

Evaluation evaluate(Pipe& pipe, const DataSet& data, std::int64_t windows) {
  const std::vector<std::int64_t> samples = data.evaluation_samples(windows);
  if (samples.empty())
    throw Error(SY_E_CONFIG, data.options.place,
                "nothing is held out: data.validation is 0; set it to a share such as 0.1");
  const auto at_once = static_cast<std::size_t>(std::max<std::int64_t>(1, pipe.plan().batch / pipe.plan().accumulate));
  Evaluation result;
  double sum = 0, right = 0;
  Batch batch;
  for (std::size_t first = 0; first < samples.size(); first += at_once) {
    data.validation->fill(std::span(samples).subspan(first, std::min(at_once, samples.size() - first)), batch);
    const StepResult part = pipe.evaluate(batch);
    result.samples += batch.rows();
    result.valid += part.valid;
    if (part.valid == 0) continue;
    sum += part.loss * static_cast<double>(part.valid);
    if (part.accuracy) result.accuracy = right += *part.accuracy * static_cast<double>(part.valid);
  }
  if (result.valid == 0)
    throw Error(SY_E_DATA, "no target of the held-out samples counts: all are data.ignore = " +
                               std::to_string(data.options.ignore));
  result.loss = sum / static_cast<double>(result.valid);
  if (result.accuracy) result.accuracy = right / static_cast<double>(result.valid);
  result.tokens = data.validation->targets().kind == TargetKind::tokens;
  result.bytes = !data.options.text.empty() && data.options.tokenizer == "bytes";
  return result;
}

std::string evaluation_json(const Evaluation& evaluation) {
  nlohmann::ordered_json json;
  json["loss"] = evaluation.loss;
  json["valid"] = evaluation.valid;
  json["samples"] = evaluation.samples;
  if (evaluation.accuracy) json["accuracy"] = *evaluation.accuracy;
  if (evaluation.tokens) json["perplexity"] = evaluation.perplexity();
  if (evaluation.bytes) json["nats_per_byte"] = evaluation.loss;
  return json.dump();
}

}  // namespace switchyard
