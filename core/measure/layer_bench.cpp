#include "measure/layer_bench.hpp"

#include <algorithm>
#include <utility>

#include "base/dtype.hpp"
#include "engine/call.hpp"
#include "measure/stopwatch.hpp"
#include "model/initial.hpp"
#include "plugin/host.hpp"

namespace switchyard {

namespace {

/// Of the tensors that bits of `which` name.
int64_t bytes_of(const std::vector<Port>& ports, uint64_t which) {
  uint64_t bytes = 0;
  for (std::size_t i = 0; i < ports.size(); ++i)
    if (which >> i & 1) bytes += byte_count(ports[i]);
  return static_cast<int64_t>(bytes);
}

uint64_t not_negative(int64_t bytes) { return static_cast<uint64_t>(std::max<int64_t>(0, bytes)); }

}  // namespace

LayerBench::LayerBench(const Device& device, const Model& model, const Layer& layer, const Shapes& shapes,
                       const sy_cost& cost, const StorageOptions& options, uint32_t flags)
    : device_(device),
      model_(model),
      layer_(layer),
      shapes_(shapes),
      keep_out_(cost.keep_out),
      stored_(model.parameters().size()) {
  std::vector<int> device_of_layer(model.layers().size(), -1);
  device_of_layer[layer.index] = 0;
  storage_ = std::make_unique<DeviceStorage>(device, 0, model, device_of_layer, options, stored_);
  draw_weights();
  bind();
  for (const Port& port : shapes.in[layer.index]) inputs_.push_back(made_up(port));
  if (!layer.is_loss())
    for (const Port& port : shapes.out[layer.index]) {
      Port seen = port;
      if (layer.kept && is_float(port.dtype)) seen.dtype = layer.compute;
      gradients_.push_back(port.differentiable ? made_up(seen) : Tensor());
    }
  const int64_t rows = shapes.batch_inputs.shape[0];
  context_.flags = flags;
  context_.batch_rows = rows;
  context_.loss_weight = 1.0 / static_cast<double>(rows);
  micro_batch_ = {0, {0, rows}, &shapes};
  context_.micro_batches.push_back(micro_batch_);
}

void LayerBench::draw_weights() {
  for (const int index : layer_.parameters) {
    const Parameter& p = model_.parameters()[index];
    const Stored& s = stored_[index];
    if (p.kind == SY_ACCUMULATOR || !is_float(s.value.get().dtype)) continue;  // begin at zero
    std::vector<float> drawn(static_cast<std::size_t>(p.count()));
    draw_initial(Distribution::parse(p.init), 0, p.name, drawn);
    const Tensor here = device_.copy(OwnedView(drawn.data(), {SY_DEVICE_CPU, 0}, dtype::f32, p.shape).get());
    device_.cast_into(s.value.get(), here.view());
    device_.wait();
  }
}

void LayerBench::bind() {
  std::vector<const sy_view*> values, gradients;
  for (const int p : layer_.parameters) {
    values.push_back(&stored_[p].value.get());
    gradients.push_back(stored_[p].gradient ? &stored_[p].gradient->get() : nullptr);
  }
  sy_binding binding{};
  binding.size = sizeof(binding);
  binding.n_params = static_cast<uint32_t>(values.size());
  binding.values = values.data();
  binding.grads = gradients.data();
  binding.device = device_.id();
  binding.origin = device_.account();
  binding.threads = device_.threads();
  call_plugin([&](sy_error** e) { return layer_.api->bind(layer_.handle, &binding, e); });
}

/// Numbers of -1 to 1 without a pattern; ids below the limit.
Tensor LayerBench::made_up(const Port& port) const {
  const auto count = static_cast<std::size_t>(element_count(port.shape));
  uint32_t state = 1;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u; };
  if (is_float(port.dtype)) {
    std::vector<float> values(count);
    for (float& x : values) x = static_cast<float>(next() >> 8) * (2.0f / (1 << 24)) - 1.0f;
    const Tensor fp32 = device_.copy(OwnedView(values.data(), {SY_DEVICE_CPU, 0}, dtype::f32, port.shape).get());
    device_.wait();
    return device_.cast(fp32, port.dtype);
  }
  const uint32_t limit = port.id_limit > 0 ? static_cast<uint32_t>(std::min<int64_t>(port.id_limit, INT32_MAX)) : 2u;
  std::vector<std::byte> raw(count * port.dtype.bits / 8);
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t id = (next() >> 8) % limit;
    std::copy_n(reinterpret_cast<const std::byte*>(&id), std::min<std::size_t>(port.dtype.bits / 8, sizeof id),
                raw.data() + i * port.dtype.bits / 8);
  }
  Tensor here = device_.copy(OwnedView(raw.data(), {SY_DEVICE_CPU, 0}, port.dtype, port.shape).get());
  device_.wait();
  return here;
}

sy_call LayerBench::call(std::vector<sy_tensor*>& in, std::vector<sy_tensor*>& out) const {
  sy_call c = make_call(context_, micro_batch_, layer_, device_, context_.flags);
  c.n_in = static_cast<uint32_t>(in.size()), c.in = in.data();
  c.n_out = static_cast<uint32_t>(out.size()), c.out = out.data();
  c.want = want_bits(layer_);
  return c;
}

std::vector<Tensor> LayerBench::forward(sy_saved** saved) {
  std::vector<sy_tensor*> in, out(shapes_.out[layer_.index].size());
  for (const Tensor& t : inputs_) in.push_back(t.get());
  const sy_call c = call(in, out);
  OutputGuard guard(out);
  call_plugin([&](sy_error** e) { return layer_.api->forward(layer_.handle, &c, saved, e); });
  return guard.take();
}

void LayerBench::backward(sy_saved* saved, MeasuredLayer& measured) {
  std::vector<sy_tensor*> in, out(layer_.inputs.size());
  for (const Tensor& t : gradients_) in.push_back(t.get());
  const sy_call c = call(in, out);
  OutputGuard guard(out);
  if (!layer_.splits()) {
    measured.input = seconds_of(
        device_, [&] { call_plugin([&](sy_error** e) { return layer_.api->backward(layer_.handle, &c, saved, e); }); });
    return;
  }
  measured.input = seconds_of(device_, [&] {
    call_plugin([&](sy_error** e) { return layer_.api->backward_input(layer_.handle, &c, saved, e); });
  });
  const std::vector<Tensor> made = guard.take();
  std::vector<sy_tensor*> none;
  const sy_call w = call(none, none);
  measured.weight = seconds_of(device_, [&] {
    call_plugin([&](sy_error** e) { return layer_.api->backward_weight(layer_.handle, &w, saved, e); });
  });
}

sy_saved* LayerBench::timed_forward(MeasuredLayer& m) {
  sy_origin& account = *device_.account();
  const int64_t before = account.live;
  account.restart_peak();
  sy_saved* saved = nullptr;
  std::vector<Tensor> outputs;
  m.forward = seconds_of(device_, [&] { outputs = forward(&saved); });
  const int64_t peak = account.peak - before;
  outputs.clear();
  const int64_t still = account.live - before;
  m.saved = not_negative(still - bytes_of(shapes_.out[layer_.index], keep_out_));
  m.workspace = not_negative(peak - static_cast<int64_t>(m.saved) - bytes_of(shapes_.out[layer_.index], ~uint64_t{0}));
  return saved;
}

void LayerBench::timed_backward(sy_saved* saved, MeasuredLayer& m) {
  sy_origin& account = *device_.account();
  account.restart_peak();
  const int64_t start = account.live;
  if (saved && (layer_.is_loss() || layer_.trains || want_bits(layer_) != 0))
    backward(saved, m);
  else if (saved)
    layer_.api->free_saved(layer_.handle, saved);
  m.workspace_backward = not_negative(account.peak - start - bytes_of(shapes_.in[layer_.index], want_bits(layer_)));
}

MeasuredLayer LayerBench::run() {
  MeasuredLayer m;
  waiting_.push_back(timed_forward(m));
  sy_saved* const oldest = waiting_.front();
  waiting_.pop_front();
  timed_backward(oldest, m);
  device_.wait();
  return m;
}

void LayerBench::fall_behind(uint64_t bytes) {
  const uint64_t one = std::max<uint64_t>(1, run().saved);
  for (uint64_t n = std::min<uint64_t>(8, bytes / one); n > 0; --n) {
    MeasuredLayer ignored;
    waiting_.push_back(timed_forward(ignored));
  }
}

LayerBench::~LayerBench() {
  for (sy_saved* saved : waiting_)
    if (saved) layer_.api->free_saved(layer_.handle, saved);
}

}  // namespace switchyard
