#include "check/layer_case.hpp"

#include <algorithm>

#include "base/dtype.hpp"
#include "check/finding.hpp"
#include "config/toml.hpp"
#include "plugin/options.hpp"

namespace switchyard::checks {

namespace {

Port numbers_of(Shape shape) { return {std::move(shape), dtype::f32, true, 0, {}}; }
Port ids_of(Shape shape) { return {std::move(shape), dtype::i64, false, 0, {}}; }

std::vector<std::vector<Port>> inputs_to_try(bool is_loss) {
  const Port flat = numbers_of({4, 8}), rows = numbers_of({4, 6, 16}), image = numbers_of({4, 3, 8, 8});
  Port flat_target = flat, rows_target = rows;
  flat_target.differentiable = rows_target.differentiable = false;
  if (is_loss) return {{flat, ids_of({4})}, {rows, ids_of({4, 6})}, {flat, flat_target}, {rows, rows_target}};
  return {{flat},       {rows},       {image},        {ids_of({4, 6})},  {ids_of({4})},
          {flat, flat}, {rows, rows}, {image, image}, {flat, flat, flat}};
}

void try_out(const LayerCase& what) {
  LayerTrial trial(what);
  trial.start_step();
  Pass pass = trial.forward(trial.draw_inputs());
  trial.backward(pass, trial.draw_gradients());
}

/// Options that must be given; at later attempts also sizes that 0 leaves open.
bool open_at(const OptionSpec& option, std::size_t attempt) {
  if (!option.fallback) return true;
  return attempt >= guesses && option.type == SY_T_I64 && (option.fallback->empty() || *option.fallback == "0");
}

LayerCase case_of(const sy_layer_api& api, const Request& request, const std::vector<OptionSpec>& specs,
                  std::size_t attempt) {
  LayerCase c;
  c.api = &api;
  c.options = request.options;
  for (const OptionSpec& s : specs)
    if (open_at(s, attempt) && !c.options.find(s.key)) c.options.set(s.key, guess(s, attempt % guesses));
  return c;
}

}  // namespace

LayerCase find_case(const sy_layer_api& api, const Request& request) {
  const std::vector<OptionSpec> specs = options_of(api);
  const bool is_loss = api.caps & SY_L_LOSS;
  const std::vector<std::vector<Port>> inputs =
      request.inputs.empty() ? inputs_to_try(is_loss) : std::vector<std::vector<Port>>{request.inputs};
  std::vector<sy_dtype> types{dtype::f32, dtype::f64, dtype::bf16, dtype::f16};
  if (request.type) types = {*request.type};
  std::string refusal;
  for (const sy_dtype type : types)
    for (std::size_t attempt = 0; attempt < 2 * guesses; ++attempt)
      for (const std::vector<Port>& ports : inputs) {
        LayerCase c = case_of(api, request, specs, attempt);
        c.inputs = ports;
        c.compute = type;
        try {
          try_out(c);
          return c;
        } catch (const Error& e) {
          if (refusal.empty() || !request.inputs.empty()) refusal = case_text(c) + ": " + e.what();
        }
      }
  throw Fault("no inputs were found with which it runs (" + refusal + ")",
              "name options and inputs that it takes: --set KEY=VALUE --input 4x8 --input 4x6:int64");
}

std::string case_text(const LayerCase& found) {
  std::string text;
  for (const Value::Member& option : found.options.table())
    text += option.key + " = " + write_toml_value(option.value) + ", ";
  text += found.inputs.size() == 1 ? "input " : "inputs ";
  for (std::size_t i = 0; i < found.inputs.size(); ++i) {
    Port seen = found.inputs[i];
    if (is_float(seen.dtype) && !found.is_target(i)) seen.dtype = found.compute;
    text += (i > 0 ? " and " : "") + port_text(seen);
  }
  return text;
}

}  // namespace switchyard::checks
