// Each published option changes something, or is refused; documented choices are accepted.
#include "plugin/options.hpp"

#include "base/dtype.hpp"
#include "check/layer/layer_checks.hpp"
#include "config/toml.hpp"
#include "plugin/host.hpp"

namespace switchyard::checks {

namespace {

std::string bytes_text(const std::vector<Named>& all) {
  std::string text;
  for (const Named& n : all)
    text += n.name + shape_text(n.shape) + std::string(reinterpret_cast<const char*>(n.bytes.data()), n.bytes.size());
  return text;
}

/// Everything that can be seen of a layer from outside; a refusal too.
std::string face(const LayerCase& what) {
  std::string text;
  try {
    LayerTrial trial(what);
    for (const Port& p : trial.outputs()) text += port_text(p) + (p.differentiable ? "d" : "");
    for (const TrialParam& p : trial.params()) text += p.name + p.init + p.tied_to + shape_text(p.value.shape());
    const sy_cost& c = trial.cost();
    for (const double x : {c.flops_forward, c.flops_input, c.flops_weight}) text += std::to_string(x) + " ";
    for (const uint64_t x : {c.bytes_saved, c.bytes_held, c.bytes_workspace, c.keep_in, c.keep_out})
      text += std::to_string(x) + " ";
    const std::vector<HostArray> inputs = trial.draw_inputs();
    text += bytes_text(trial.run(inputs));
    trial.finish();
    text += bytes_text(trial.state()) + bytes_text(trial.predict(inputs, SY_EVAL));
  } catch (const Error& e) {
    text += std::string("refused: ") + e.what();
  }
  return text;
}

/// create alone: a choice may ask for other shapes.
void expect_created(const LayerCase& what, const std::string& said) {
  ErrorList errors;
  const sy_config checked = check_plugin_options(*what.api, what.options, errors, "");
  errors.raise();
  sy_layer* layer = nullptr;
  try {
    call_plugin([&](sy_error** e) { return what.api->create(host_table(), &checked, &layer, e); });
  } catch (const Error& e) {
    throw Fault("its published choice " + said + " is refused: " + e.what(),
                "take it in create, or publish it no more");
  }
  what.api->destroy(layer);
}

}  // namespace

void check_layer_options(const LayerCase& what) {
  const std::vector<OptionSpec> all = options_of(*what.api);
  for (const OptionSpec& option : all)
    for (const std::string& choice : option.choices)
      expect_created(what.with(option.key, Value(choice)), option.key + " = \"" + choice + "\"");
  expect_options_used(all, what.options, [&](const Value& table) {
    LayerCase other = what;
    other.options = table;
    return face(other);
  });
}

}  // namespace switchyard::checks
