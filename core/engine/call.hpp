// The arguments of a layer's call, and what is added to its failures.
#pragma once

#include <functional>
#include <vector>

#include "engine/stage.hpp"

namespace switchyard {

/// Everything but inputs and outputs.
sy_call make_call(const StepContext& context, const MicroBatchInput& input, const Layer& layer, const Device& device,
                  uint32_t flags);

/// Bit i: the gradient of input i is needed.
uint64_t want_bits(const Layer& layer);

/// Runs body; a failure gets the facts plugin, layer, stage, device, micro-batch (-1: none), and a text that begins
/// with them.
void in_layer(const Layer& layer, const Stage& stage, const Device& device, int micro_batch,
              const std::function<void()>& body);

/// Owns what a call has put into its output slots until take().
class OutputGuard {
 public:
  explicit OutputGuard(std::vector<sy_tensor*>& slots) : slots_(slots) {}
  ~OutputGuard() { take(); }
  OutputGuard(const OutputGuard&) = delete;
  OutputGuard& operator=(const OutputGuard&) = delete;
  std::vector<Tensor> take();

 private:
  std::vector<sy_tensor*>& slots_;
};

}  // namespace switchyard
