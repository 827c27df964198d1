// One layer on one device, called again and again.
#pragma once

#include <memory>
#include <vector>

#include "engine/stage.hpp"
#include "plan/measured.hpp"

namespace switchyard {

/// Holds the layer's weights and made-up inputs; nothing else of the model is allocated. Everything is lent.
class LayerBench {
 public:
  /// `model` has a layer of its own to bind: no other device uses it. `flags`: SY_CALL_*. Throws what the layer or the
  /// device throws.
  LayerBench(const Device& device, const Model& model, const Layer& layer, const Shapes& shapes, const sy_cost& cost,
             const StorageOptions& options, uint32_t flags);

  /// One forward and one backward; their seconds, and the bytes that they took.
  MeasuredLayer run();

 private:
  void bind();
  void draw_weights();
  Tensor made_up(const Port& port) const;
  std::vector<Tensor> forward(sy_saved** saved);
  void backward(sy_saved* saved, MeasuredLayer& measured);
  sy_call call(std::vector<sy_tensor*>& in, std::vector<sy_tensor*>& out) const;

  const Device& device_;
  const Model& model_;
  const Layer& layer_;
  const Shapes& shapes_;
  const uint64_t keep_out_;  // outputs that the core keeps and counts
  std::vector<Stored> stored_;
  std::unique_ptr<DeviceStorage> storage_;
  std::vector<Tensor> inputs_, gradients_;
  StepContext context_;
  MicroBatchInput micro_batch_;
};

}  // namespace switchyard
