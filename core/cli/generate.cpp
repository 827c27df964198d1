// switchyard generate: text from a model, as it comes.
#include <cstdio>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>

#include "commands.hpp"
#include "handle.hpp"
#include "signals.hpp"

namespace cli {

namespace {

template <class T>
void take(const std::optional<T>& from, uint32_t bit, T& to, uint32_t& given) {
  if (!from) return;
  to = *from;
  given |= bit;
}

int32_t print_piece(void*, const char* piece) {
  std::fputs(piece, stdout);
  std::fflush(stdout);
  return signal_received();
}
int32_t only_ask(void*, const char*) { return signal_received(); }

sy_generate_options to_api(const GenerateArguments& o) {
  sy_generate_options api{};
  api.size = sizeof(api);
  api.prompt = o.prompt ? o.prompt->c_str() : nullptr;
  api.stop = o.stop ? o.stop->c_str() : nullptr;
  take(o.tokens, SY_G_TOKENS, api.tokens, api.given);
  take(o.temperature, SY_G_TEMPERATURE, api.temperature, api.given);
  take(o.top_k, SY_G_TOP_K, api.top_k, api.given);
  take(o.top_p, SY_G_TOP_P, api.top_p, api.given);
  take(o.seed, SY_G_SEED, api.seed, api.given);
  api.on_text = o.json ? only_ask : print_piece;
  return api;
}

}  // namespace

int generate(const GenerateArguments& arguments) {
  const Runtime runtime = open_runtime(arguments.subject.path, arguments.subject.sets);
  const GracefulStop stop("\nstopping after this token\n");
  const sy_generate_options api = to_api(arguments);
  const std::string json =
      text_of([&](char** give, sy_error** err) { return sy_generate(runtime.get(), &api, give, err); });
  std::cout << (arguments.json ? json : "") << std::endl;
  return signal_received() ? 128 + signal_received() : done;
}

}  // namespace cli
