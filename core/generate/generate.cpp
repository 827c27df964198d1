#include "generate/generate.hpp"

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/dtype.hpp"
#include "generate/text_stream.hpp"

namespace switchyard {
namespace {

/// What a language model takes and how much of it.
struct TokenModel {
  std::int64_t context = 0;   // most ids at once
  std::int64_t id_limit = 0;  // ids are below it; 0: not known
};

TokenModel token_model(Model& model, std::optional<std::int64_t> context) {
  const BatchSpec& batch = model.batch();
  const bool tokens = is_integer(batch.input_dtype) && batch.input_shape.size() == 1;
  if (!tokens || batch.target_shape != batch.input_shape)
    throw Error(SY_E_CONFIG, "this model writes no text: it takes samples of " + shape_text(batch.input_shape) + " " +
                                 dtype_name(batch.input_dtype) +
                                 ", a language model takes ids and predicts the next one");
  const Shapes& shapes = model.shapes(SY_FORWARD, 1);
  return {context.value_or(batch.input_shape[0]), shapes.batch_inputs.id_limit};
}

std::vector<std::int64_t> encode_prompt(const Tokenizer& tokenizer, const std::string& prompt,
                                        const TokenModel& model) {
  std::vector<std::int64_t> ids = tokenizer.encode(prompt);
  if (ids.empty())
    throw Error(SY_E_CONFIG, "generate.prompt is empty: the model needs at least one token to go on from");
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (model.id_limit > 0 && ids[i] >= model.id_limit)
      throw Error(SY_E_CONFIG, "generate.prompt: id " + std::to_string(ids[i]) + " at position " + std::to_string(i) +
                                   " is out of range: the model's ids are 0 .. " + std::to_string(model.id_limit - 1));
  return ids;
}

/// How many ids may be written.
std::int64_t allowed_tokens(const GenerateRequest& request, std::int64_t prompt, std::int64_t context) {
  if (request.overflow != "slide" && request.overflow != "stop" && request.overflow != "error")
    throw Error(SY_E_CONFIG,
                "generate.overflow = \"" + request.overflow + "\": wanted \"slide\", \"stop\" or \"error\"");
  if (request.tokens < 0)
    throw Error(SY_E_CONFIG, "generate.tokens = " + std::to_string(request.tokens) + ": wanted 0 or more");
  if (request.overflow == "error" && prompt + request.tokens > context)
    throw Error(SY_E_CONFIG, "generate.overflow = \"error\": prompt of " + std::to_string(prompt) + " tokens + " +
                                 std::to_string(request.tokens) + " new ones: " +
                                 std::to_string(prompt + request.tokens) + " > " + std::to_string(context) +
                                 " (the model's context); ask for fewer, or choose overflow = \"slide\" or \"stop\"");
  if (request.overflow == "stop") return std::clamp<std::int64_t>(context - prompt, 0, request.tokens);
  return request.tokens;
}

/// The scores of the position after `ids`, of which the last `context` are looked at.
std::int64_t next_id(Pipe& pipe, std::span<const std::int64_t> ids, std::int64_t context, const Sampler& sampler,
                     std::uint64_t position) {
  const auto count = std::min<std::size_t>(ids.size(), static_cast<std::size_t>(context));
  HostTensor inputs;
  inputs.reset(id_dtype, {1, static_cast<std::int64_t>(count)});
  std::copy(ids.end() - static_cast<std::ptrdiff_t>(count), ids.end(), inputs.values<std::int64_t>().begin());
  const HostTensor scores = pipe.forward(inputs, true);
  const auto width = static_cast<std::size_t>(scores.shape().back());
  return sampler.pick(scores.values<float>().last(width), position);
}

}  // namespace

GenerateRequest GenerateRequest::from(const Config& config) {
  const GenerateConfig& from = config.generate;
  GenerateRequest request;
  request.prompt = from.prompt;
  request.tokens = from.tokens;
  request.sampler = {from.temperature, from.top_k, from.top_p, static_cast<std::uint64_t>(config.seed), 0};
  request.overflow = from.overflow;
  return request;
}

Generated generate(Pipe& pipe, const Tokenizer& tokenizer, std::optional<std::int64_t> context,
                   const GenerateRequest& request, const OnText& on_text) {
  const auto begin = std::chrono::steady_clock::now();
  SamplerOptions options = request.sampler;
  options.limit = tokenizer.vocabulary();
  const Sampler sampler = Sampler::create(options);
  const TokenModel model = token_model(pipe.model(), context);
  std::vector<std::int64_t> ids = encode_prompt(tokenizer, request.prompt, model);

  Generated result;
  result.prompt_tokens = static_cast<std::int64_t>(ids.size());
  const std::int64_t allowed = allowed_tokens(request, result.prompt_tokens, model.context);
  result.end = allowed < request.tokens ? "context" : "tokens";
  TextStream stream(request.stop);
  const auto show = [&](const std::string& piece) {
    result.text += piece;
    return piece.empty() || !on_text || on_text(piece);
  };
  for (std::int64_t n = 0; n < allowed; ++n) {
    const std::int64_t id = next_id(pipe, ids, model.context, sampler, static_cast<std::uint64_t>(n));
    ids.push_back(id);
    result.ids.push_back(id);
    if (!show(stream.push(tokenizer.decode(std::span(&id, 1))))) {
      result.end = "cancelled";
      break;
    }
    if (stream.stopped()) {
      result.end = "stop";
      break;
    }
  }
  if (result.end != "cancelled") show(stream.finish());
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return result;
}

std::string generated_json(const GenerateRequest& request, const Generated& generated) {
  nlohmann::ordered_json json;
  json["prompt"] = request.prompt;
  json["text"] = generated.text;
  json["ids"] = generated.ids;
  json["prompt_tokens"] = generated.prompt_tokens;
  json["end"] = generated.end;
  json["seconds"] = generated.seconds;
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace switchyard
