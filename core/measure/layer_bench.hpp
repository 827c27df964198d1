// One layer on one device, called again and again.
#pragma once

#include <deque>
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
  ~LayerBench();
  LayerBench(const LayerBench&) = delete;
  LayerBench& operator=(const LayerBench&) = delete;

  /// Forwards whose backward waits from now on: in a pass other layers come between, and what a forward saved is out
  /// of the processor's caches when its backward reads it. As many as fit into `bytes`, 8 at most.
  void fall_behind(uint64_t bytes);
  /// One forward, and the backward of the oldest one that waits; their seconds, and the bytes that they took.
  MeasuredLayer run();

 private:
  void bind();
  void draw_weights();
  Tensor made_up(const Port& port) const;
  std::vector<Tensor> forward(sy_saved** saved);
  sy_saved* timed_forward(MeasuredLayer& measured);
  void timed_backward(sy_saved* saved, MeasuredLayer& measured);
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
  std::deque<sy_saved*> waiting_;
  StepContext context_;
  MicroBatchInput micro_batch_;
};

}  // namespace switchyard
