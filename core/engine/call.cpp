#include "engine/call.hpp"

#include <utility>

namespace switchyard {

sy_call make_call(const StepContext& context, const MicroBatchInput& input, const Layer& layer, const Device& device,
                  uint32_t flags) {
  sy_call call{};
  call.size = sizeof(call);
  call.flags = flags;
  call.kind = context.kind;
  call.micro_batch = static_cast<uint32_t>(input.number);
  call.micro_batches = static_cast<uint32_t>(context.micro_batches.size());
  call.param_version = context.param_version;
  call.device = device.id();
  call.stream = device.stream();
  call.native_stream = device.native_stream();
  call.origin = device.account();
  call.threads = device.threads();
  call.rows = input.rows.count;
  call.batch_rows = context.batch_rows;
  call.first_sample = input.rows.first;
  call.step = context.step;
  call.seed = context.seed;
  call.layer_key = layer.key;
  call.loss_weight = context.loss_weight;
  return call;
}

uint64_t want_bits(const Layer& layer) {
  uint64_t bits = 0;
  for (std::size_t i = 0; i < layer.wants.size(); ++i)
    if (layer.wants[i]) bits |= uint64_t{1} << i;
  return bits;
}

void in_layer(const Layer& layer, const Stage& stage, const Device& device, int micro_batch,
              const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& e) {
    std::string where = layer.text() + ", stage " + std::to_string(stage.index) + " on " + device.name();
    if (micro_batch >= 0) where += ", micro-batch " + std::to_string(micro_batch);
    Error full(e.code(), where + ": " + e.what());
    for (const auto& [key, value] : e.notes()) full.note(key, value);
    full.note("plugin", layer.plugin)
        .note("layer", layer.name)
        .note("stage", std::to_string(stage.index))
        .note("device", device.name());
    if (micro_batch >= 0) full.note("micro_batch", std::to_string(micro_batch));
    throw full;
  }
}

std::vector<Tensor> OutputGuard::take() {
  std::vector<Tensor> all;
  for (sy_tensor*& slot : slots_) all.push_back(Tensor::adopt(std::exchange(slot, nullptr)));
  return all;
}

}  // namespace switchyard
