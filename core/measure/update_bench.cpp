#include "measure/update_bench.hpp"

#include "base/dtype.hpp"
#include "engine/storage.hpp"
#include "measure/stopwatch.hpp"
#include "plugin/host.hpp"

namespace switchyard {

namespace {

constexpr int warm_ups = 2, rounds = 9;

void update(const Device& device, const OptimizerChoice& optimizer, DeviceStorage& storage,
            const sy_opt_control* control) {
  storage.start_step();
  for (DeviceStorage::Span& s : storage.spans()) {
    const sy_optimizer_api& api = optimizer.optimizer.api();
    call_plugin([&](sy_error** e) {
      return api.norms(optimizer.optimizer.get(), &s.span, reinterpret_cast<double*>(s.norms.data()), device.stream(),
                       device.native_stream(), e);
    });
    call_plugin([&](sy_error** e) {
      return api.step(optimizer.optimizer.get(), &s.span, control, device.stream(), device.native_stream(), e);
    });
  }
}

}  // namespace

double update_seconds(const Device& device, int index, const Model& model, const Plan& plan,
                      const OptimizerChoice& optimizer, sy_dtype gradients) {
  std::vector<int> device_of_layer;
  for (const Layer& layer : model.layers())
    device_of_layer.push_back(plan.device_of_layer(layer.index) == index ? 0 : -1);
  StorageOptions options;
  options.states = static_cast<int>(optimizer.states.size());
  options.gradient_dtype = gradients;
  options.decay_all = optimizer.decay_all;
  std::vector<Stored> stored(model.parameters().size());
  DeviceStorage storage(device, 0, model, device_of_layer, options, stored);
  uint64_t elements = 0;
  for (const DeviceStorage::Span& s : storage.spans()) elements += s.span.count;
  if (elements == 0) return 0;

  sy_opt_control control{};
  control.lr = 1e-3, control.inv_scale = control.clip_factor = 1, control.step = 1;
  const Block block = device.allocate(sizeof control);
  const Shape bytes{sizeof control};
  device.copy_into(OwnedView(block.data(), device.id(), dtype::u8, bytes).get(),
                   OwnedView(&control, {SY_DEVICE_CPU, 0}, dtype::u8, bytes).get());
  device.wait();
  std::vector<double> seconds;
  for (int r = 0; r < warm_ups + rounds; ++r) {
    const double s = seconds_of(
        device, [&] { update(device, optimizer, storage, reinterpret_cast<const sy_opt_control*>(block.data())); });
    if (r >= warm_ups) seconds.push_back(s);
  }
  return median(std::move(seconds)) / static_cast<double>(elements);
}

}  // namespace switchyard
