#include "engine/pipe.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>

#include "base/dtype.hpp"
#include "engine/pipe_impl.hpp"
#include "model/initial.hpp"

namespace switchyard {

namespace {

LossScale chosen_scale(const PrecisionConfig& precision) {
  if (precision.type != "fp16") return LossScale::fixed(1);
  return precision.loss_scale ? LossScale::fixed(*precision.loss_scale) : LossScale::dynamic();
}

}  // namespace

Pipe::Impl::Impl(const Config& config, Registry& registry, std::unique_ptr<Model> m, Plan p)
    : model(std::move(m)),
      plan(std::move(p)),
      seed(static_cast<uint64_t>(config.seed)),
      stop_within(config.devices.stop_within),
      forward_schedule(switchyard::forward_schedule(registry)),
      loss_scale(chosen_scale(config.precision)),
      failure(
          [this] {
            for (auto& l : links) l->close();
          },
          [this] {
            for (auto& l : links) l->reset();
          }) {
  if (config.precision.tf32) call_flags |= SY_CALL_TF32;
  if (config.train && config.train->deterministic) call_flags |= SY_CALL_DETERMINISTIC;
  open_devices(config);
  for (const Edge& e : plan.edges)
    links.push_back(
        std::make_unique<EdgeLink>(e, *devices[plan.stages[e.from].device], *devices[plan.stages[e.to].device]));
  crew = std::make_unique<Crew>(static_cast<int>(devices.size()));
}

Pipe::Impl::~Impl() {
  settle();  // tensors are freed below
}

void Pipe::Impl::start(const Config& config, Registry& registry) {
  StorageOptions options;
  options.gradient_dtype = config.precision.gradients == "bf16" ? dtype::bf16 : dtype::f32;
  if (config.train) {
    optimizer = choose_optimizer(config, registry);
    options.states = static_cast<int>(optimizer->states.size());
    options.decay_all = optimizer->decay_all;
    clip_norm = config.train->clip_norm;
  }
  allocate(options);
  make_decisions();
  open_links({});
  try_links();
  draw_initial_values();
}

namespace {

/// Such a device can be planned for, not run on.
Error not_here(const Config& config, const PlanDevice& device) {
  if (!config.devices.machine) return {SY_E_STATE, "device " + device.name + " is not on this machine"};
  return {SY_E_CONFIG, config.devices.machine->place,
          "devices.machine: device " + device.name +
              " is not here; it can be planned for, not run on; leave devices.machine out"};
}

}  // namespace

void Pipe::Impl::open_devices(const Config& config) {
  std::map<const sy_backend_api*, std::shared_ptr<OpenedBackend>> opened;
  for (const PlanDevice& d : plan.devices) {
    if (!d.backend) throw not_here(config, d);
    auto& backend = opened[d.backend];
    if (!backend) backend = std::make_shared<OpenedBackend>(*d.backend, config.devices.p2p);
    devices.push_back(std::make_unique<Device>(d, backend));
    recorders.push_back(std::make_unique<Recorder>(*devices.back()));
    if (devices.back()->is_asynchronous() && !asynchronous) asynchronous = backend;
  }
}

void Pipe::Impl::allocate(const StorageOptions& options) {
  stored.resize(model->parameters().size());
  storage.resize(devices.size());
  std::vector<int> device_of_layer;
  for (std::size_t l = 0; l < model->layers().size(); ++l)
    device_of_layer.push_back(plan.device_of_layer(static_cast<int>(l)));
  on_all([this, device_of_layer, options](int d) {
    storage[d] = std::make_unique<DeviceStorage>(*devices[d], d, *model, device_of_layer, options, stored);
  });
  for (const Stage& s : plan.stages)
    stages.push_back(std::make_unique<StageRunner>(*model, plan, s, *devices[s.device], *recorders[s.device], links));
  on_all([this](int d) {
    for (const Stage& s : plan.stages)
      if (s.device == d) stages[s.index]->bind(stored);
  });
}

void Pipe::Impl::open_links(const std::vector<MicroBatchInput>& micro_batches) {
  std::vector<uint64_t> room(plan.edges.size(), 0);  // of those that must be opened
  for (const Edge& e : plan.edges) {
    if (!links[e.index]->crosses()) continue;
    uint64_t bytes = e.bytes;
    if (!e.backward && !micro_batches.empty())  // the first one is the largest, and gradients are the plan's
      bytes = std::max(bytes, byte_count(micro_batches[0].shapes->out[e.layer][e.output]));
    if (links[e.index]->room() < bytes) room[e.index] = bytes;
  }
  if (std::ranges::all_of(room, [](uint64_t bytes) { return bytes == 0; })) return;
  on_all([this, room](int d) {
    for (const Edge& e : plan.edges)
      if (room[e.index] > 0 && plan.stages[e.to].device == d) links[e.index]->open(room[e.index]);
  });
}

void Pipe::Impl::try_links() {
  for (const Edge& e : plan.edges) {
    const Device& from = *devices[plan.stages[e.from].device];
    const Device& to = *devices[plan.stages[e.to].device];
    if (&from == &to || !from.is_asynchronous() || !to.is_asynchronous()) continue;
    const Tensor sent = from.new_tensor({1}, dtype::f32), received = to.new_tensor({1}, dtype::f32);
    to.copy_from(received.view(), sent.view(), from, from.mark());
    to.wait();
  }
}

void Pipe::Impl::draw_initial_values() {
  std::vector<float> drawn;
  std::vector<std::byte> converted;
  for (const Parameter& p : model->parameters()) {
    if (p.is_tied() || p.kind == SY_ACCUMULATOR) continue;
    drawn.resize(static_cast<std::size_t>(p.count()));
    draw_initial(Distribution::parse(p.init), seed, p.name, drawn);
    const Stored& s = stored[p.index];
    const OwnedView& to = s.trained ? s.master : s.value;
    const sy_dtype type = to.get().dtype;
    converted.resize(drawn.size() * type.bits / 8);
    if (is_float(type)) {
      convert(drawn.data(), dtype::f32, converted.data(), type, drawn.size());
    } else {
      std::memset(converted.data(), 0, converted.size());  // counters and the like begin at zero
    }
    devices[s.device]->copy_into(to.get(), OwnedView(converted.data(), {SY_DEVICE_CPU, 0}, type, p.shape).get());
    devices[s.device]->wait();
  }
}

void Pipe::Impl::check_usable() const {
  if (!poisoned) return;
  Error error(SY_E_STATE, std::string("the pipe cannot be used any more; its first failure was: ") + poisoned->what());
  for (const auto& [key, value] : poisoned->notes()) error.note(key, value);
  throw error;
}

Pipe::Pipe(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Pipe::~Pipe() {
  if (!impl_ || impl_->crew->idle()) return;
  // A thread hangs inside a layer: what it uses when it wakes up must still be there. The list keeps it reachable.
  static std::mutex mutex;
  static auto* hanging = new std::vector<std::unique_ptr<Impl>>;
  const std::lock_guard lock(mutex);
  hanging->push_back(std::move(impl_));
}

std::unique_ptr<Pipe> Pipe::build(const Config& config, Registry& registry, std::unique_ptr<Model> model, Plan plan) {
  std::unique_ptr<Pipe> pipe(new Pipe(std::make_unique<Impl>(config, registry, std::move(model), std::move(plan))));
  pipe->impl_->start(config, registry);
  pipe->values_changed();
  return pipe;
}

Model& Pipe::model() { return *impl_->model; }
const Plan& Pipe::plan() const { return impl_->plan; }
LossScale& Pipe::loss_scale() { return impl_->loss_scale; }
int64_t Pipe::applied_steps() const {
  impl_->check_finished();
  return impl_->applied;
}
void Pipe::set_applied_steps(int64_t n) {
  impl_->check_finished();
  impl_->set_applied(n);
}

std::vector<DevicePeak> Pipe::peaks() const {
  std::vector<DevicePeak> all;
  for (std::size_t d = 0; d < impl_->devices.size(); ++d)
    all.push_back({impl_->devices[d]->name(), impl_->plan.memory[d].peak(),
                   static_cast<uint64_t>(impl_->devices[d]->account()->peak.load())});
  return all;
}

std::vector<const sy_origin*> Pipe::accounts() const {
  std::vector<const sy_origin*> all;
  for (const auto& device : impl_->devices) all.push_back(device->account());
  return all;
}

void Pipe::cancel() { impl_->failure.cancel(Error(SY_E_CANCELLED, "the step was cancelled")); }

namespace {

const OwnedView& stored_view(const std::vector<Stored>& all, const Model& model, const TensorName& which) {
  const Parameter& p = model.parameters().at(which.parameter);
  const Stored& s = all[p.is_tied() ? p.owner : which.parameter];
  if (which.state >= 0) return s.states.at(which.state);
  return s.trained ? s.master : s.value;
}

}  // namespace

sy_dtype Pipe::stored_dtype(const TensorName& which) const {
  return stored_view(impl_->stored, *impl_->model, which).get().dtype;
}

void Pipe::read(const TensorName& which, std::span<std::byte> to) const {
  impl_->check_usable();
  impl_->check_finished();
  const sy_view& from = stored_view(impl_->stored, *impl_->model, which).get();
  if (to.size() != byte_count(from))
    throw Error(SY_E_ARGUMENT, "a tensor of " + std::to_string(byte_count(from)) + " bytes, and room for " +
                                   std::to_string(to.size()));
  const Parameter& p = impl_->model->parameters()[which.parameter];
  const Device& device = *impl_->devices[impl_->stored[p.is_tied() ? p.owner : p.index].device];
  device.copy_into(OwnedView(to.data(), {SY_DEVICE_CPU, 0}, from.dtype, shape_of(from)).get(), from);
  device.wait();
}

void Pipe::write(const TensorName& which, std::span<const std::byte> from) {
  impl_->check_usable();
  impl_->check_finished();
  const sy_view& to = stored_view(impl_->stored, *impl_->model, which).get();
  if (from.size() != byte_count(to))
    throw Error(SY_E_ARGUMENT, "a tensor of " + std::to_string(byte_count(to)) + " bytes, and content of " +
                                   std::to_string(from.size()));
  const Parameter& p = impl_->model->parameters()[which.parameter];
  const Device& device = *impl_->devices[impl_->stored[p.is_tied() ? p.owner : p.index].device];
  device.copy_into(to,
                   OwnedView(const_cast<std::byte*>(from.data()), {SY_DEVICE_CPU, 0}, to.dtype, shape_of(to)).get());
  device.wait();
}

void Pipe::read_gradient(int parameter, std::span<float> to) const {
  impl_->check_usable();
  impl_->check_finished();
  const Parameter& p = impl_->model->parameters().at(parameter);
  const Stored& s = impl_->stored[p.is_tied() ? p.owner : p.index];
  if (!s.gradient) throw Error(SY_E_NOT_FOUND, "'" + p.name + "' is not trained");
  const Device& device = *impl_->devices[s.device];
  const Tensor as_fp32 = device.cast(device.copy(s.gradient->get()), dtype::f32);
  device.copy_into(OwnedView(to.data(), {SY_DEVICE_CPU, 0}, dtype::f32, p.shape).get(), as_fp32.view());
  device.wait();
}

void Pipe::values_changed() {
  Impl& i = *impl_;
  i.check_finished();
  ++i.param_version;
  i.on_all([&i](int d) {
    for (const Stored& s : i.stored)
      if (s.device == d && s.trained) i.devices[d]->cast_into(s.value.get(), s.master.get());
  });
  i.on_all([&i](int d) { i.share_tied(d); });
  i.settle();
}

}  // namespace switchyard
