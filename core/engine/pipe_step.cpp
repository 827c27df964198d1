#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "data/batch_check.hpp"
#include "engine/pipe_impl.hpp"
#include "plan/program.hpp"
#include "plugin/host.hpp"

namespace switchyard {

// ---- running things on the device threads ---------------------------------------------------------------------------

void Pipe::Impl::on_all(const std::function<void(int)>& body) {
  crew->post([&](int d) {
    try {
      const Device::Current current(*devices[d]);
      body(d);
    } catch (const Error& e) {
      failure.set(e);
    } catch (const Stopped&) {
    } catch (const std::exception& e) {
      failure.set(Error(SY_E_INTERNAL, e.what()));
    }
  });
  const bool all_stopped = crew->wait([&] { return failure.failed(); }, std::chrono::duration<double>(stop_within));
  const std::optional<Error> first = failure.first();
  if (!first) return;
  if (!all_stopped) {
    poisoned = first;
    throw *first;
  }
  drop_step();
  if (first->code() == SY_E_DEVICE) poisoned = first;
  throw *first;
}

/// Frees what the broken step left; weights and optimizer states are as before it.
void Pipe::Impl::drop_step() {
  for (auto& stage : stages) stage->abandon();
  for (auto& channel : channels) channel->reset();
  failure.reset();
}

void Pipe::Impl::run_pass(const std::vector<std::vector<Action>>& programs, StepContext& context, int first,
                          int count) {
  on_all([&](int d) {
    for (const Action& a : programs[d]) {
      if (a.micro_batch >= count) continue;  // a smaller last batch has fewer
      if (failure.failed()) throw Stopped();
      stages[a.stage]->run(a, context, first + a.micro_batch);
    }
  });
}

// ---- what a call is about
// ---------------------------------------------------------------------------------------------

StepContext Pipe::Impl::context_for(uint32_t kind, const HostTensor& inputs, const HostTensor* targets) {
  check_usable();
  if (inputs.rows() < 1) throw Error(SY_E_DATA, "a batch without samples");
  StepContext c;
  c.kind = kind;
  c.flags = call_flags;
  c.seed = seed;
  c.param_version = param_version;
  c.batch_rows = inputs.rows();
  c.inputs = &inputs;
  c.targets = targets;
  return c;
}

void Pipe::Impl::add_micro_batches(StepContext& context, int64_t first_row, int64_t rows, int most) {
  const Shape& whole = context.inputs->shape();
  const Shape sample(whole.begin() + 1, whole.end());
  for (const RowRange& r : split_rows(rows, std::min<int64_t>(most, rows))) {
    const Shapes& shapes = model->shapes(context.kind, r.count, sample);
    context.micro_batches.push_back(
        {static_cast<int>(context.micro_batches.size()), {first_row + r.first, r.count}, &shapes});
  }
  context.results.resize(context.micro_batches.size());
}

void Pipe::Impl::check_batch(const HostTensor& inputs, const HostTensor* targets, const Shapes& shapes) const {
  const auto check = [](const HostTensor& given, const Port& expected, const char* what,
                        std::optional<int64_t> ignore) {
    const Shape sample(given.shape().begin() + 1, given.shape().end());
    const Shape wanted(expected.shape.begin() + 1, expected.shape.end());
    if (sample != wanted || !(given.dtype() == expected.dtype))
      throw Error(SY_E_DATA, std::string("the batch's ") + what + " are " + dtype_name(given.dtype()) + " " +
                                 shape_text(sample) + " for each sample; the model takes " +
                                 dtype_name(expected.dtype) + " " + shape_text(wanted));
    if (expected.id_limit > 0 && is_integer(given.dtype())) check_ids(ids_of(given), expected.id_limit, ignore, what);
  };
  check(inputs, shapes.batch_inputs, "inputs", std::nullopt);
  if (!targets) return;
  check(*targets, shapes.batch_targets, "targets", model->batch().ignore);
  if (targets->rows() != inputs.rows())
    throw Error(SY_E_DATA, std::to_string(inputs.rows()) + " samples of inputs, but " +
                               std::to_string(targets->rows()) + " of targets");
}

// ---- one step
// -------------------------------------------------------------------------------------------------------------

StepResult Pipe::Impl::collect(const StepContext& context, int64_t valid) const {
  StepResult r;
  r.valid = valid;
  double sum = 0, right = 0;
  const Device& device = *devices[plan.device_of_layer(model->loss())];
  for (const Tensor& t : context.results) {
    float values[2] = {0, -1};
    device.copy_into(OwnedView(values, {SY_DEVICE_CPU, 0}, dtype::f32, {2}).get(), t.view());
    device.wait();
    r.micro_losses.push_back(values[0]);
    sum += values[0];
    right = values[1] < 0 ? -1 : right + values[1];
  }
  r.loss = valid > 0 ? sum / static_cast<double>(valid) : 0;
  if (right >= 0 && valid > 0) r.accuracy = right / static_cast<double>(valid);
  r.loss_scale = loss_scale.value();
  return r;
}

StepResult Pipe::Impl::accumulate_gradients(const Batch& batch, StepContext& context) {
  if (batch.rows() > plan.batch)
    throw Error(SY_E_DATA, "a batch of " + std::to_string(batch.rows()) + " samples; the plan is made for " +
                               std::to_string(plan.batch));
  std::vector<std::pair<int, int>> passes;  // first micro-batch, how many
  for (const RowRange& pass : split_rows(batch.rows(), std::min<int64_t>(plan.accumulate, batch.rows()))) {
    const int first = static_cast<int>(context.micro_batches.size());
    add_micro_batches(context, pass.first, pass.count, plan.micro_batches);
    passes.emplace_back(first, static_cast<int>(context.micro_batches.size()) - first);
  }
  check_batch(batch.inputs, &batch.targets, *context.micro_batches[0].shapes);
  const int64_t valid = count_valid(batch.targets, model->batch().ignore);
  context.loss_weight = valid > 0 ? loss_scale.value() / static_cast<double>(valid) : 0;
  on_all([&](int d) { storage[d]->start_step(); });
  for (const auto& [first, count] : passes) run_pass(plan.train, context, first, count);
  StepResult result = collect(context, valid);
  on_all([&](int d) { sum_tied(d); });
  result.grad_norm = gradient_norm();
  return result;
}

/// Each use of a tied weight has its own gradient; here they are added to the owner's in the order of layers.
void Pipe::Impl::sum_tied(int d) {
  for (const Parameter& p : model->parameters()) {
    if (!p.is_tied() || !p.trainable || stored[p.owner].device != d) continue;
    const Stored& owner = stored[p.owner];
    if (!owner.gradient) continue;
    const sy_view& from = stored[p.index].gradient->get();
    const bool here = stored[p.index].device == d;
    if (here)
      devices[d]->accumulate(owner.gradient->get(), from);
    else
      devices[d]->accumulate(owner.gradient->get(), devices[d]->copy(from).view());
  }
}

/// The two-norm over all weights, without the loss scale: squares per parameter, then in the order of the model.
double Pipe::Impl::gradient_norm() {
  if (!optimizer) return 0;
  std::vector<double> squares(model->parameters().size(), 0.0);
  on_all([&](int d) {
    for (DeviceStorage::Span& s : storage[d]->spans()) {
      auto* out = reinterpret_cast<double*>(s.norms.data());
      call_plugin([&](sy_error** e) {
        return optimizer->optimizer.api().norms(optimizer->optimizer.get(), &s.span, out, devices[d]->stream(),
                                                devices[d]->native_stream(), e);
      });
      std::vector<double> host(s.parameters.size());
      const Shape shape{static_cast<int64_t>(host.size())};
      devices[d]->copy_into(OwnedView(host.data(), {SY_DEVICE_CPU, 0}, dtype::f64, shape).get(),
                            OwnedView(out, devices[d]->id(), dtype::f64, shape).get());
      devices[d]->wait();
      for (std::size_t i = 0; i < host.size(); ++i) squares[s.parameters[i]] = host[i];
    }
  });
  double sum = 0;
  for (const double s : squares) sum += s;
  return std::sqrt(sum) / loss_scale.value();
}

void Pipe::Impl::update(const StepContext& context, double lr, double norm) {
  sy_opt_control control{};
  control.lr = lr;
  control.inv_scale = 1 / loss_scale.value();
  control.clip_factor = clip_norm > 0 ? std::min(1.0, clip_norm / (norm + 1e-6)) : 1.0;
  control.step = applied + 1;
  on_all([&](int d) {
    for (const Stage& s : plan.stages)
      if (s.device == d) stages[s.index]->finish(context);
    for (DeviceStorage::Span& s : storage[d]->spans()) {
      const Block on_device = devices[d]->allocate(sizeof(control));
      const Shape bytes{sizeof(control)};
      devices[d]->copy_into(OwnedView(on_device.data(), devices[d]->id(), dtype::u8, bytes).get(),
                            OwnedView(&control, {SY_DEVICE_CPU, 0}, dtype::u8, bytes).get());
      call_plugin([&](sy_error** e) {
        return optimizer->optimizer.api().step(optimizer->optimizer.get(), &s.span,
                                               reinterpret_cast<const sy_opt_control*>(on_device.data()),
                                               devices[d]->stream(), devices[d]->native_stream(), e);
      });
    }
  });
  on_all([&](int d) { share_tied(d); });
  ++applied;
  ++param_version;
}

/// The owner's value to the uses of tied weights on this device.
void Pipe::Impl::share_tied(int d) {
  for (const Parameter& p : model->parameters())
    if (p.is_tied() && stored[p.index].device == d && stored[p.index].owns_value)
      devices[d]->copy_into(stored[p.index].value.get(), stored[p.owner].value.get());
}

StepResult Pipe::gradients(const Batch& batch, uint64_t step) {
  StepContext context = impl_->context_for(SY_TRAIN, batch.inputs, &batch.targets);
  context.step = step;
  return impl_->accumulate_gradients(batch, context);
}

StepResult Pipe::step(const Batch& batch, uint64_t step, double lr) {
  Impl& i = *impl_;
  if (!i.optimizer) throw Error(SY_E_STATE, "the configuration has no [train]; there is no optimizer to step with");
  StepContext context = i.context_for(SY_TRAIN, batch.inputs, &batch.targets);
  context.step = step;
  StepResult result = i.accumulate_gradients(batch, context);
  const bool finite = std::isfinite(result.grad_norm);
  const bool scaled = i.loss_scale.is_dynamic() || i.loss_scale.value() != 1;
  if (!finite && !scaled)
    throw Error(SY_E_DATA, "step " + std::to_string(step) + " was dropped: " + i.first_unsound_gradient());
  result.skipped = !finite;
  if (finite) {
    try {
      i.update(context, lr, result.grad_norm);
    } catch (const Error& e) {
      i.poisoned = e;  // some weights are new and some old
      throw;
    }
  }
  i.loss_scale.update(finite);
  return result;
}

/// Names the first parameter, in the order of the model, whose gradient is not finite.
std::string Pipe::Impl::first_unsound_gradient() {
  for (const Parameter& p : model->parameters()) {
    if (p.is_tied() || !stored[p.index].gradient) continue;
    const Tensor g = devices[stored[p.index].device]->cast(
        devices[stored[p.index].device]->copy(stored[p.index].gradient->get()), dtype::f32);
    std::vector<float> host(static_cast<std::size_t>(p.count()));
    devices[stored[p.index].device]->copy_into(OwnedView(host.data(), {SY_DEVICE_CPU, 0}, dtype::f32, p.shape).get(),
                                               g.view());
    devices[stored[p.index].device]->wait();
    for (std::size_t e = 0; e < host.size(); ++e)
      if (!std::isfinite(host[e]))
        return "the gradient of '" + p.name + "' (" + model->layers()[p.layer].text() + ") is not finite at element " +
               std::to_string(e) + "; lower train.optimizer.lr, or set train.clip_norm";
  }
  return "the norm of the gradients is not finite; lower train.optimizer.lr, or set train.clip_norm";
}

// ---- evaluation and predictions
// -------------------------------------------------------------------------------------------

const std::vector<std::vector<Action>>& Pipe::Impl::forward_program(int micro_batches) {
  auto& program = forward_programs[micro_batches];
  if (program.empty()) {
    const std::vector<StageTimes> times(plan.stages.size(), {1, 0, 0});
    program =
        run_schedule(forward_schedule.api(), forward_schedule.get(), plan.stages, static_cast<int>(devices.size()),
                     micro_batches, times, std::vector<bool>(plan.stages.size(), false), true);
  }
  return program;
}

StepResult Pipe::evaluate(const Batch& batch) {
  Impl& i = *impl_;
  StepContext context = i.context_for(SY_EVAL, batch.inputs, &batch.targets);
  const int64_t most = std::max<int64_t>(1, i.plan.largest_micro_batch());
  const int pieces = static_cast<int>((batch.rows() + most - 1) / most);
  i.add_micro_batches(context, 0, batch.rows(), pieces);
  i.check_batch(batch.inputs, &batch.targets, *context.micro_batches[0].shapes);
  i.run_pass(i.forward_program(pieces), context, 0, pieces);
  return i.collect(context, count_valid(batch.targets, i.model->batch().ignore));
}

HostTensor Pipe::forward(const HostTensor& inputs, bool last_position) {
  Impl& i = *impl_;
  StepContext context = i.context_for(SY_FORWARD, inputs, nullptr);
  if (last_position) context.flags |= SY_CALL_LAST_POSITION;
  i.add_micro_batches(context, 0, inputs.rows(), 1);
  i.check_batch(inputs, nullptr, *context.micro_batches[0].shapes);
  i.run_pass(i.forward_program(1), context, 0, 1);
  const Device& device = *i.devices[i.plan.device_of_layer(i.model->loss())];
  const Tensor result = device.cast(context.results[0], dtype::f32);
  HostTensor out;
  out.reset(dtype::f32, shape_of(result.view()));
  device.copy_into(OwnedView(out.bytes().data(), {SY_DEVICE_CPU, 0}, dtype::f32, shape_of(result.view())).get(),
                   result.view());
  device.wait();
  return out;
}

}  // namespace switchyard
