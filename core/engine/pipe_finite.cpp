// Where numbers that are not finite come from. Slow, and only asked once a loss, a norm or a prediction is not finite.

#include <algorithm>
#include <cmath>

#include "base/dtype.hpp"
#include "engine/pipe_impl.hpp"

namespace switchyard {

void Pipe::Impl::find_non_finite(const StepContext& context) {
  auto again = std::make_shared<StepContext>(context);
  std::fill(again->results.begin(), again->results.end(), Tensor());
  again->flags |= SY_CALL_NO_SAVE | SY_CALL_REPLAY;
  again->checks_finite = true;
  const int count = static_cast<int>(again->micro_batches.size());
  const Cancellable cancellable(*this);
  run_pass(forward_program(count), again, 0, count);
}

Error Pipe::Impl::unsound_gradient(uint64_t step) {
  const std::string what = "step " + std::to_string(step) + " was dropped: ";
  const std::string remedy = "; lower train.optimizer.lr, or set train.clip_norm";
  for (const Parameter& p : model->parameters()) {
    if (p.is_tied() || !stored[p.index].gradient) continue;
    const Layer& layer = model->layers()[p.layer];
    const Device& device = *devices[stored[p.index].device];
    const std::optional<std::size_t> at = device.find_non_finite(stored[p.index].gradient->get());
    if (!at) continue;
    const std::string stage = std::to_string(plan.stage_of_layer[p.layer]);
    Error error(SY_E_DATA, what + "the gradient of '" + p.name + "' (" + layer.text() + ", stage " + stage + " on " +
                               device.name() + ") is not finite at element " + std::to_string(*at) + remedy);
    error.note("plugin", layer.plugin).note("layer", layer.name).note("stage", stage).note("device", device.name());
    return error;
  }
  return Error(SY_E_DATA, what + "the loss or the norm of the gradients is not finite" + remedy);
}

}  // namespace switchyard
