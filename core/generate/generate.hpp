// Text from a model: prompt, then one token after the other, each from a forward pass over the last `context` ids.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/tokenizer.hpp"
#include "engine/pipe.hpp"
#include "generate/sampler.hpp"

namespace switchyard {

struct GenerateRequest {
  std::string prompt;
  std::int64_t tokens = 200;
  SamplerOptions sampler;
  std::string overflow = "slide";  // past the context: "slide" keeps its last ids, "stop" ends, "error" refuses at once
  std::string stop;                // ends before this text; "": none
  /// From [generate] and seed.
  static GenerateRequest from(const Config& config);
};

struct Generated {
  std::string text;               // what follows the prompt, valid UTF-8 (bytes that are none became U+FFFD)
  std::vector<std::int64_t> ids;  // new ones, those of the stop text included
  std::int64_t prompt_tokens = 0;
  std::string end;  // "tokens", "stop", "context", "cancelled"
  double seconds = 0;
};

/// Gets each piece of valid UTF-8 as soon as it is known not to belong to the stop text; the pieces put together are
/// Generated::text. false: ends there. Called on the calling thread.
using OnText = std::function<bool(const std::string& piece)>;

/// Nothing of the pipe changes; the text does not depend on the plan. Errors: SY_E_CONFIG (no token model; an empty
/// prompt or one with ids that the model does not know; wrong sampler options; overflow = "error" with prompt + tokens
/// > context, naming all three), SY_E_DATA (scores that are not finite), whatever Pipe::forward throws. [ctl]
Generated generate(Pipe& pipe, const Tokenizer& tokenizer, std::optional<std::int64_t> context,
                   const GenerateRequest& request, const OnText& on_text = {});

/// {"prompt":...,"text":...,"ids":[...],"prompt_tokens":4,"end":"tokens","seconds":0.1}
std::string generated_json(const GenerateRequest& request, const Generated& generated);

}  // namespace switchyard
