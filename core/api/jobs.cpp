// Whole jobs besides training: evaluate, generate, compare, inspect.
#include <nlohmann/json.hpp>

#include "api/call.hpp"
#include "api/handle.hpp"
#include "train/bench.hpp"
#include "train/compare.hpp"
#include "train/inspect.hpp"

using namespace switchyard;
using namespace switchyard::api;

namespace {

GenerateRequest request_of(const Config& config, const sy_generate_options& o) {
  constexpr uint32_t known = SY_G_TOKENS | SY_G_TEMPERATURE | SY_G_TOP_K | SY_G_TOP_P | SY_G_SEED;
  if (o.given & ~known) throw Error(SY_E_ARGUMENT, "given: an unknown bit is set");
  GenerateRequest request = GenerateRequest::from(config);
  if (o.prompt) request.prompt = o.prompt;
  if (o.stop) request.stop = o.stop;
  if (o.overflow) request.overflow = o.overflow;
  if (o.given & SY_G_TOKENS) request.tokens = o.tokens;
  if (o.given & SY_G_TEMPERATURE) request.sampler.temperature = o.temperature;
  if (o.given & SY_G_TOP_K) request.sampler.top_k = o.top_k;
  if (o.given & SY_G_TOP_P) request.sampler.top_p = o.top_p;
  if (o.given & SY_G_SEED) request.sampler.seed = o.seed;
  return request;
}

}  // namespace

sy_rc sy_evaluate(sy_runtime* runtime, char** give_json, sy_error** err) {
  return guard(err, [&] {
    RuntimeState& state = *alive(runtime).state;
    const Subject& subject = state.configured();
    const auto session = Session::open(subject.config, *state.registry, Purpose::evaluate, subject.run);
    run_on(*session, [&] { give_text(give_json, evaluation_json(session->evaluate())); });
  });
}

sy_rc sy_generate(sy_runtime* runtime, const sy_generate_options* given, char** give_json, sy_error** err) {
  return guard(err, [&] {
    RuntimeState& state = *alive(runtime).state;
    const sy_generate_options options = read_struct(given, "options");
    const Subject& subject = state.configured();
    const GenerateRequest request = request_of(subject.config, options);
    const auto session = Session::open(subject.config, *state.registry, Purpose::generate, subject.run);
    OnText on_text;
    if (options.on_text)
      on_text = [&](const std::string& piece) { return options.on_text(options.user, piece.c_str()) == 0; };
    run_on(*session, [&] { give_text(give_json, generated_json(request, session->generate(request, on_text))); });
  });
}

sy_rc sy_compare(sy_runtime* runtime, int64_t steps, char** give_text_, char** give_json, sy_error** err) {
  return guard(err, [&] {
    RuntimeState& state = *alive(runtime).state;
    if (steps < 1) throw Error(SY_E_ARGUMENT, "steps = " + std::to_string(steps) + ": wanted 1 or more");
    const Comparison comparison = compare(state.configured().config, *state.registry, steps);
    give_text(give_text_, comparison_text(comparison));
    give_text(give_json, comparison_json(comparison));
  });
}

sy_rc sy_bench(sy_runtime* runtime, const sy_bench_options* given, char** give_text_, char** give_json,
               sy_error** err) {
  return guard(err, [&] {
    RuntimeState& state = *alive(runtime).state;
    const sy_bench_options options = read_struct(given, "options");
    BenchOptions wanted;
    if (options.steps != 0) wanted.steps = options.steps;
    wanted.warm_up = options.warm_up;
    wanted.peak_flops = options.peak_flops;
    const auto session = Session::open(state.configured().config, *state.registry, Purpose::steps);
    run_on(*session, [&] {
      const BenchResult result = bench(*session, wanted);
      give_text(give_text_, bench_text(result));
      give_text(give_json, bench_json(result));
    });
  });
}

sy_rc sy_inspect(sy_runtime* runtime, const char* path, char** give_text_, char** give_json, sy_error** err) {
  return guard(err, [&] {
    RuntimeState& state = *alive(runtime).state;
    const Inventory inventory = path ? inspect(path) : inspect(state.configured(), *state.registry);
    give_text(give_text_, inventory_text(inventory));
    give_text(give_json, inventory_json(inventory));
  });
}
