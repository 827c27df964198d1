// A layer leaves thread and process as it found them.
#include "check/surroundings.hpp"

#include "check/layer/layer_checks.hpp"

namespace switchyard::checks {

namespace {

void whole_life(const LayerCase& what) {
  LayerTrial trial(what);
  const std::vector<HostArray> inputs = trial.draw_inputs();
  trial.run(inputs);
  trial.finish();
  trial.predict(inputs, SY_EVAL);
}

}  // namespace

void check_layer_surroundings(const LayerCase& what, const Surroundings& before) {
  whole_life(what);
  before.expect_kept();
  const int threads = thread_count();
  for (int i = 0; i < 4; ++i) whole_life(what);
  if (const int more = thread_count() - threads; more >= 4)
    throw Fault(std::to_string(more) + " threads more run after four further layers",
                "end what you start, or start it once per process");
}

}  // namespace switchyard::checks
