// The same numbers again, to the last bit: for the same call, for a replay, for a backward in two halves.
#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

void check_layer_repeats(const LayerCase& what) {
  LayerTrial trial(what), other(what);
  const std::vector<HostArray> inputs = trial.draw_inputs();
  const std::vector<Named> first = trial.run(inputs);
  trial.run(trial.draw_inputs(9), {.first_sample = 4});
  const std::string change =
      "let results follow from the call, the inputs and the parameters alone: random numbers from "
      "random.h, sums in a fixed order, nothing kept between calls";
  if (const std::string d = difference(first, trial.run(inputs)); !d.empty())
    throw Fault("the same call gives other numbers the second time: " + d, change);
  if (const std::string d = difference(first, other.run(inputs)); !d.empty())
    throw Fault("a second layer of the same kind gives other numbers: " + d, change);
  for (const uint32_t kind : {SY_EVAL, SY_FORWARD})
    if (const std::string d = difference(trial.predict(inputs, kind), other.predict(inputs, kind)); !d.empty())
      throw Fault("a prediction differs from that of a second layer of the same kind: " + d, change);
}

void check_layer_split(const LayerCase& what) {
  if (!what.splits()) throw Skip("it has no backward_input and backward_weight");
  LayerTrial whole(what), split(what);
  const std::vector<HostArray> inputs = whole.draw_inputs();
  if (const std::string d = difference(whole.run(inputs), split.run(inputs, {.split = true})); !d.empty())
    throw Fault("backward_input and backward_weight give other numbers than backward: " + d,
                "let backward be one, then the other");
}

void check_layer_replay(const LayerCase& what) {
  LayerTrial trial(what);
  const std::vector<HostArray> inputs = trial.draw_inputs();
  const std::vector<Named> first = trial.run(inputs, {.step = 3, .first_sample = 4});
  trial.start_step();
  const How original{.step = 3, .first_sample = 4};
  Pass before = trial.forward(inputs, {.flags = SY_CALL_NO_SAVE, .step = 3, .first_sample = 4});
  trial.free_saved(before);
  std::vector<Named> gathered;
  for (const TrialParam& p : trial.params())
    if (p.kind == SY_ACCUMULATOR) gathered.push_back(copy_of("the accumulator '" + p.name + "'", p.value));
  How replay = original;
  replay.flags = SY_CALL_REPLAY;
  Pass pass = trial.forward(inputs, replay);
  std::vector<Named> again;
  for (std::size_t o = 0; o < pass.outputs.size(); ++o)
    if (pass.outputs[o]) again.push_back(copy_of("output " + std::to_string(o), pass.outputs[o].view()));
  const std::vector<Tensor> back = trial.backward(pass, trial.draw_gradients(), original);
  for (std::size_t i = 0; i < back.size(); ++i)
    if (back[i]) again.push_back(copy_of("the gradient of input " + std::to_string(i), back[i].view()));
  for (Named& n : trial.accumulated()) again.push_back(std::move(n));
  std::vector<Named> kept;
  for (const TrialParam& p : trial.params())
    if (p.kind == SY_ACCUMULATOR) kept.push_back(copy_of("the accumulator '" + p.name + "'", p.value));
  if (const std::string d = difference(gathered, kept); !d.empty())
    throw Fault("a replay adds to an accumulator: " + d, "leave accumulators alone where SY_CALL_REPLAY is set");
  if (what.is_loss()) throw Skip("losses are not recomputed");
  if (const std::string d = difference(first, again); !d.empty())
    throw Fault("a replay gives other numbers than the original: " + d,
                "treat a call with SY_CALL_REPLAY as the first one, also its random numbers (random.h)");
}

}  // namespace switchyard::checks
