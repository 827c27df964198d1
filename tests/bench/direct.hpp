// The peer of the runtime: the same layers, called one after the other from one thread, with no plan, no channels and
// no device threads between them.
#pragma once

#include <memory>
#include <vector>

#include "base/dtype.hpp"
#include "data/source.hpp"
#include "engine/device.hpp"
#include "engine/storage.hpp"
#include "model/model.hpp"
#include "plugin/chosen.hpp"
#include "plugin/host.hpp"

namespace bench {

using namespace switchyard;

/// A chain of layers on one device, one micro-batch, fp32, no ties. Throws for other models.
class Direct {
 public:
  Direct(const Config& config, Registry& registry, std::unique_ptr<Model> model, const PlanDevice& where)
      : model_(std::move(model)),
        optimizer_(choose_optimizer(config, registry)),
        device_(where, std::make_shared<OpenedBackend>(*where.backend)),
        stored_(model_->parameters().size()) {
    StorageOptions options;
    options.states = static_cast<int>(optimizer_.states.size());
    options.gradient_dtype = dtype::f32;
    storage_ = std::make_unique<DeviceStorage>(device_, 0, *model_, std::vector<int>(model_->layers().size(), 0),
                                               options, stored_);
    for (const Layer& layer : model_->layers()) bind(layer);
  }

  /// One step; returns the sum of losses.
  float step(const Batch& batch, int64_t number) {
    storage_->start_step();
    const auto& layers = model_->layers();
    const Tensor targets = device_.copy(view_of(batch.targets));
    std::vector<Tensor> values{device_.copy(view_of(batch.inputs))};
    std::vector<sy_saved*> saved(layers.size());
    for (const Layer& layer : layers) {
      std::vector<sy_tensor*> in{values.back().get()}, out(1);
      if (layer.is_loss()) in.push_back(targets.get());
      sy_call c = call(layer, batch, number);
      c.in = in.data(), c.n_in = static_cast<uint32_t>(in.size()), c.out = out.data(), c.n_out = 1;
      call_plugin([&](sy_error** e) { return layer.api->forward(layer.handle, &c, &saved[layer.index], e); });
      values[0] = Tensor::adopt(out[0]);
    }
    const float loss = *reinterpret_cast<const float*>(data_of(values[0].view()));
    Tensor gradient;
    for (auto layer = layers.rbegin(); layer != layers.rend(); ++layer) {
      std::vector<sy_tensor*> in{gradient.get()}, out(2);
      sy_call c = call(*layer, batch, number);
      c.in = in.data(), c.n_in = layer->is_loss() ? 0 : 1, c.out = out.data(),
      c.n_out = static_cast<uint32_t>(layer->inputs.size());
      c.want = layer->index > 0;
      call_plugin([&](sy_error** e) { return layer->api->backward(layer->handle, &c, saved[layer->index], e); });
      gradient = Tensor::adopt(out[0]);
    }
    update(number);
    return loss;
  }

 private:
  static sy_view view_of(const HostTensor& t) {
    return {const_cast<std::byte*>(t.bytes().data()),
            {SY_DEVICE_CPU, 0},
            static_cast<int32_t>(t.shape().size()),
            t.dtype(),
            const_cast<int64_t*>(t.shape().data()),
            strides(t.shape()),
            0};
  }
  static int64_t* strides(const Shape& shape) {
    static thread_local std::vector<Shape> kept;
    kept.push_back(contiguous_strides(shape));
    if (kept.size() > 8) kept.erase(kept.begin());
    return kept.back().data();
  }

  void bind(const Layer& layer) {
    std::vector<const sy_view*> values, gradients;
    for (const int p : layer.parameters) {
      values.push_back(&stored_[p].value.get());
      gradients.push_back(stored_[p].gradient ? &stored_[p].gradient->get() : nullptr);
    }
    sy_binding b{};
    b.size = sizeof b, b.n_params = static_cast<uint32_t>(values.size()), b.values = values.data(),
    b.grads = gradients.data();
    b.device = device_.id(), b.origin = device_.account(), b.threads = device_.threads();
    call_plugin([&](sy_error** e) { return layer.api->bind(layer.handle, &b, e); });
  }

  sy_call call(const Layer& layer, const Batch& batch, int64_t number) const {
    sy_call c{};
    c.size = sizeof c, c.kind = SY_TRAIN, c.micro_batches = 1, c.device = device_.id(), c.origin = device_.account();
    c.threads = device_.threads(), c.rows = c.batch_rows = batch.rows(), c.step = static_cast<uint64_t>(number);
    c.layer_key = layer.key;
    c.loss_weight = 1.0 / static_cast<double>(batch.targets.bytes().size() / 8);
    return c;
  }

  void update(int64_t number) {
    sy_opt_control control{1e-3, 1, 1, 0, number};
    for (DeviceStorage::Span& s : storage_->spans()) {
      const auto& api = optimizer_.optimizer.api();
      call_plugin([&](sy_error** e) {
        return api.norms(optimizer_.optimizer.get(), &s.span, reinterpret_cast<double*>(s.norms.data()),
                         device_.stream(), nullptr, e);
      });
      call_plugin([&](sy_error** e) {
        return api.step(optimizer_.optimizer.get(), &s.span, &control, device_.stream(), nullptr, e);
      });
    }
  }

  std::unique_ptr<Model> model_;
  OptimizerChoice optimizer_;
  Device device_;
  std::vector<Stored> stored_;
  std::unique_ptr<DeviceStorage> storage_;
};

}  // namespace bench
