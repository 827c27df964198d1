// Weights and buffers are all that a checkpoint holds: a new layer with the same ones must go on with the same numbers.
#include <algorithm>

#include "base/dtype.hpp"
#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

namespace {

/// A step as training makes it: gradients, finish, and a plain update.
void train(LayerTrial& trial, uint64_t seed) {
  trial.run(trial.draw_inputs(seed), {.step = seed});
  trial.finish();
  for (const TrialParam& p : trial.params()) {
    if (p.kind != SY_WEIGHT) continue;
    Numbers value = p.value.numbers();
    const Numbers gradient = p.grad.numbers();
    for (std::size_t i = 0; i < value.size(); ++i) value[i] -= 0.01 * gradient[i];
    p.value.write(value);
  }
  trial.values_changed();
}

}  // namespace

void check_layer_save(const LayerCase& what) {
  LayerTrial trained(what), loaded(what);
  train(trained, 1);
  train(trained, 2);
  for (std::size_t i = 0; i < trained.params().size(); ++i) {
    const TrialParam& from = trained.params()[i];
    if (from.kind == SY_WEIGHT || from.kind == SY_BUFFER)
      std::copy_n(from.value.data(), from.value.bytes(), loaded.params()[i].value.data());
  }
  loaded.values_changed();
  const std::string change =
      "keep what a layer learns in weights and buffers that params declares: nothing else is saved";
  const std::vector<HostArray> inputs = trained.draw_inputs(7);
  if (const std::string d = difference(trained.predict(inputs, SY_EVAL), loaded.predict(inputs, SY_EVAL)); !d.empty())
    throw Fault("a layer that was loaded predicts other numbers than the one that was saved: " + d, change);
  if (const std::string d = difference(trained.run(inputs, {.step = 3}), loaded.run(inputs, {.step = 3})); !d.empty())
    throw Fault("a layer that was loaded trains otherwise than the one that was saved: " + d, change);
  trained.finish(), loaded.finish();
  if (const std::string d = difference(trained.state(), loaded.state()); !d.empty())
    throw Fault("after loading, finish gives other buffers: " + d, change);
}

}  // namespace switchyard::checks
