#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "base/dtype.hpp"
#include "data/batch_check.hpp"
#include "engine/pipe_impl.hpp"
#include "plugin/host.hpp"
#include "schedule/run_schedule.hpp"

namespace switchyard {

// ---- running things on the device threads -------------------------------------------------------------------------

void Pipe::Impl::on_all(std::function<void(int)> body) {
  check_usable();
  crew->post([this, body = std::move(body)](int d) {
    try {
      const Device::Current current(*devices[d]);
      body(d);
    } catch (const Error& e) {
      failure.set(e.code() == SY_E_NO_MEMORY ? with_memory_facts(e, d) : e);
    } catch (const Stopped&) {
    } catch (const std::exception& e) {
      failure.set(Error(SY_E_INTERNAL, devices[d]->name() + ": " + e.what()));
    } catch (...) {
      failure.set(Error(SY_E_INTERNAL, devices[d]->name() + ": an exception of unknown type"));
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
  settle();
  for (auto& stage : stages) stage->abandon();
  failure.reset();
}

void Pipe::Impl::settle() {
  for (const auto& device : devices) {
    if (!device->is_asynchronous()) continue;
    try {
      device->wait();
    } catch (const Error&) {  // the failure that is being handled, seen again
    }
  }
}

void Pipe::Impl::wait_for_all() {
  if (!asynchronous) return;
  on_all([this](int d) { devices[d]->wait(); });
}

/// What was asked for, held and allowed, and what the plan expected.
Error Pipe::Impl::with_memory_facts(const Error& error, int d) const {
  const sy_origin& account = *devices[d]->account();
  std::string text = error.what();
  const auto asked = account.refused.load();
  if (!error.note("wanted_bytes") && asked > 0)
    text += ": " + std::to_string(asked) + " bytes more do not fit, " + std::to_string(account.live_at_refusal.load()) +
            " of its budget of " + std::to_string(account.budget) + " are in use";
  text += "; the plan predicts a peak of " + std::to_string(plan.memory[d].peak()) + " bytes on " + devices[d]->name();
  Error full(error.code(), text);
  for (const auto& [key, value] : error.notes()) full.note(key, value);
  full.note("device", devices[d]->name()).note("planned_bytes", std::to_string(plan.memory[d].peak()));
  return full;
}

Pipe::Impl::Cancellable::~Cancellable() {
  pipe_.failure.refuse_cancels();
  if (!pipe_.poisoned && pipe_.failure.failed()) pipe_.drop_step();  // cancelled after the last device had stopped
}

void Pipe::Impl::Cancellable::end() {
  pipe_.failure.refuse_cancels();
  if (const std::optional<Error> cancelled = pipe_.failure.first()) {
    pipe_.drop_step();
    throw *cancelled;
  }
}

Recorder::Clock::time_point Pipe::Impl::run_pass(const std::vector<std::vector<Action>>& programs,
                                                 const Context& context, int first, int count) {
  Recorder::Clock::time_point began;
  try {
    open_links(context->micro_batches);
    began = Recorder::Clock::now();
    on_all([this, &programs, context, began, first, count](int d) {  // the programs are the plan's
      recorders[d]->start(context->records, began, first, context->kind == SY_TRAIN);
      for (const Action& a : programs[d]) {
        if (a.micro_batch >= count) continue;  // a smaller last batch has fewer
        if (failure.failed()) throw Stopped();
        stages[a.stage]->run(a, *context, first + a.micro_batch);
      }
    });
  } catch (...) {
    context->loan->take_back();
    throw;
  }
  return began;
}

void Pipe::Impl::count_time(Recorder::Clock::time_point began, StepResult& result) {
  const auto seconds = [&](auto duration) { return std::chrono::duration<double>(duration).count(); };
  if (recording_since) {
    settle();
    const std::size_t n = devices.size();
    RecordedPass pass{seconds(began - *recording_since), {std::vector<std::vector<TimedAction>>(n), {}, {}, 0}};
    pass.timeline.memory.resize(n);
    for (std::size_t d = 0; d < n; ++d) recorders[d]->read(static_cast<int>(d), pass.timeline);
    recorded.push_back(std::move(pass));
  }
  double last = 0;
  result.busy.resize(devices.size(), 0.0);
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const std::optional<double> busy = recorders[d]->busy();
    result.busy[d] = busy && result.busy[d] ? std::optional(*result.busy[d] + *busy) : std::nullopt;
    last = std::max(last, recorders[d]->last());
  }
  result.passes_s += last;
}

// ---- what a call is about -----------------------------------------------------------------------------------------

Pipe::Impl::Context Pipe::Impl::context_for(uint32_t kind, const HostTensor& inputs, const HostTensor* targets) {
  check_usable();
  if (inputs.rows() < 1) throw Error(SY_E_DATA, "a batch without samples");
  auto made = std::make_shared<StepContext>();
  StepContext& c = *made;
  c.stop = &failure.stop();
  c.kind = kind;
  c.flags = call_flags;
  c.seed = seed;
  c.param_version = param_version;
  c.batch_rows = inputs.rows();
  c.inputs = &inputs;
  c.targets = targets;
  // The desk is free: the result of whatever lay there was waited for.
  Desk& here = desks[desk];
  const auto& pins = asynchronous ? asynchronous : devices[0]->backend();
  const auto keep = [&](const HostTensor*& tensor, const std::byte*& bytes, HostTensor& like, PinnedCopy& pinned) {
    bytes = asynchronous || may_be_late ? pinned.take(tensor->bytes(), pins) : tensor->bytes().data();
    if (!may_be_late) return;
    like.reset(tensor->dtype(), tensor->shape());
    tensor = &like;
  };
  keep(c.inputs, c.input_bytes, here.inputs_like, here.inputs);
  if (targets) keep(c.targets, c.target_bytes, here.targets_like, here.targets);
  return made;
}

/// Shapes for this call's samples, which the model may not take.
const Shapes& Pipe::Impl::shapes_for(uint32_t kind, int64_t rows, const Shape& sample) {
  try {
    return model->shapes(kind, rows, sample);
  } catch (const Error& e) {
    throw Error(SY_E_DATA,
                "the batch's inputs, " + shape_text(sample) + " for each sample, do not fit the model: " + e.what());
  }
}

void Pipe::Impl::add_micro_batches(StepContext& context, int64_t first_row, int64_t rows, int most) {
  const Shape& whole = context.inputs->shape();
  const Shape sample(whole.begin() + 1, whole.end());
  for (const RowRange& r : split_rows(rows, std::min<int64_t>(most, rows))) {
    context.micro_batches.push_back({static_cast<int>(context.micro_batches.size()),
                                     {first_row + r.first, r.count},
                                     &shapes_for(context.kind, r.count, sample)});
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

// ---- one step -----------------------------------------------------------------------------------------------------

void Pipe::Impl::add_losses(const std::vector<std::array<float, 2>>& losses, StepResult& r) {
  double sum = 0, right = 0;
  for (const auto& values : losses) {
    r.micro_losses.push_back(values[0]);
    sum += values[0];
    right = values[1] < 0 ? -1 : right + values[1];
  }
  r.loss = r.valid > 0 ? sum / static_cast<double>(r.valid) : 0;
  if (right >= 0 && r.valid > 0) r.accuracy = right / static_cast<double>(r.valid);
}

StepResult Pipe::Impl::collect(const StepContext& context, int64_t valid) const {
  StepResult r;
  r.valid = valid;
  r.loss_scale = loss_scale.value();
  const Device& device = *devices[plan.device_of_layer(model->loss())];
  std::vector<std::array<float, 2>> all(context.results.size(), {0, -1});
  for (std::size_t i = 0; i < all.size(); ++i)
    device.copy_into(OwnedView(all[i].data(), {SY_DEVICE_CPU, 0}, dtype::f32, {2}).get(), context.results[i].view());
  device.wait();
  add_losses(all, r);
  return r;
}

Pipe::Impl::Posted Pipe::Impl::post_gradients(const Batch& batch, const Context& shared) {
  StepContext& context = *shared;
  if (batch.rows() > plan.batch)
    throw Error(SY_E_DATA, "a batch of " + std::to_string(batch.rows()) + " samples; the plan is made for " +
                               std::to_string(plan.batch));
  Posted posted;
  posted.context = shared;
  posted.desk = desk;
  for (const RowRange& pass : split_rows(batch.rows(), std::min<int64_t>(plan.accumulate, batch.rows()))) {
    const int first = static_cast<int>(context.micro_batches.size());
    add_micro_batches(context, pass.first, pass.count, plan.micro_batches);
    posted.passes.emplace_back(first, static_cast<int>(context.micro_batches.size()) - first);
  }
  check_batch(batch.inputs, &batch.targets, *context.micro_batches[0].shapes);
  posted.valid = count_valid(batch.targets, model->batch().ignore);
  posted.loss_scale = loss_scale.value();
  context.loss_weight = posted.valid > 0 ? posted.loss_scale / static_cast<double>(posted.valid) : 0;
  context.records = recording_since.has_value();
  recorded.clear();
  run_passes(posted);
  return posted;
}

Pipe::Impl::Posted Pipe::Impl::Posted::again() const {
  Posted p;
  p.context = std::make_shared<StepContext>(*context);
  std::ranges::fill(p.context->results, Tensor());
  p.passes = passes;
  p.desk = desk, p.valid = valid, p.loss_scale = loss_scale;
  return p;
}

void Pipe::Impl::run_passes(Posted& posted) {
  on_all([this](int d) {
    if (devices[d]->is_asynchronous())
      for (const Event& end : ends) devices[d]->wait_for(end);
    storage[d]->start_step();
    recorders[d]->marks().start_step();
  });
  for (const auto& [first, count] : posted.passes)
    count_time(run_pass(plan.train, posted.context, first, count), posted.times);
  on_all([this](int d) { sum_tied(d); });
}

/// Each use of a tied weight has its own gradient; here they are added to the owner's in the order of layers.
void Pipe::Impl::sum_tied(int d) {
  for (const Parameter& p : model->parameters()) {
    if (!p.is_tied() || !p.trainable || stored[p.owner].device != d) continue;
    const Stored& owner = stored[p.owner];
    if (!owner.gradient) continue;
    const sy_view& from = stored[p.index].gradient->get();
    const Device& here = *devices[d];
    const Device& there = *devices[stored[p.index].device];
    if (&here == &there) {
      here.accumulate(owner.gradient->get(), from);
    } else {
      const Tensor copy = here.new_tensor(shape_of(from), from.dtype);
      here.copy_from(copy.view(), from, there, there.mark());
      here.accumulate(owner.gradient->get(), copy.view());
    }
  }
}

void Pipe::Impl::update(const Context& context) {
  try {
    on_all([this, context](int d) {
      for (const Stage& s : plan.stages)
        if (s.device == d) stages[s.index]->finish(*context);
      for (DeviceStorage::Span& s : storage[d]->spans())
        call_plugin([&](sy_error** e) {
          return optimizer->optimizer.api().step(optimizer->optimizer.get(), &s.span, decisions[d]->control(),
                                                 devices[d]->stream(), devices[d]->native_stream(), e);
        });
    });
    on_all([this](int d) {
      share_tied(d);
      ends[d] = devices[d]->mark();
    });
  } catch (const Error& e) {
    if (!poisoned) poisoned = e;  // some weights are new and some old
    throw;
  }
  ++param_version;
}

/// The owner's value to the uses of tied weights on this device.
void Pipe::Impl::share_tied(int d) {
  for (const Parameter& p : model->parameters())
    if (p.is_tied() && stored[p.index].device == d && stored[p.index].owns_value) {
      const Device& there = *devices[stored[p.owner].device];
      devices[d]->copy_from(stored[p.index].value.get(), stored[p.owner].value.get(), there, there.mark());
    }
}

void Pipe::record(bool on) {
  impl_->check_finished();
  impl_->recording_since.reset();
  if (on) impl_->recording_since = Recorder::Clock::now();
}

const std::vector<RecordedPass>& Pipe::recorded() const { return impl_->recorded; }

// ---- evaluation and predictions -----------------------------------------------------------------------------------

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
  i.check_finished();
  const Impl::Context context = i.context_for(SY_EVAL, batch.inputs, &batch.targets);
  const int64_t most = std::max<int64_t>(1, i.plan.largest_micro_batch());
  const int pieces = static_cast<int>((batch.rows() + most - 1) / most);
  i.add_micro_batches(*context, 0, batch.rows(), pieces);
  i.check_batch(batch.inputs, &batch.targets, *context->micro_batches[0].shapes);
  Impl::Cancellable cancellable(i);
  i.run_pass(i.forward_program(pieces), context, 0, pieces);
  i.settle();  // the batch is the caller's
  StepResult result = i.collect(*context, count_valid(batch.targets, i.model->batch().ignore));
  cancellable.end();
  if (!std::isfinite(result.loss)) i.find_non_finite(*context);
  return result;
}

HostTensor Pipe::forward(const HostTensor& inputs, bool last_position) {
  Impl& i = *impl_;
  i.check_finished();
  const Impl::Context context = i.context_for(SY_FORWARD, inputs, nullptr);
  if (last_position) context->flags |= SY_CALL_LAST_POSITION;
  i.add_micro_batches(*context, 0, inputs.rows(), 1);
  i.check_batch(inputs, nullptr, *context->micro_batches[0].shapes);
  Impl::Cancellable cancellable(i);
  i.run_pass(i.forward_program(1), context, 0, 1);
  i.settle();  // the inputs are the caller's
  cancellable.end();
  const Device& device = *i.devices[i.plan.device_of_layer(i.model->loss())];
  const Tensor result = device.cast(context->results[0], dtype::f32);
  HostTensor out;
  out.reset(dtype::f32, shape_of(result.view()));
  device.copy_into(OwnedView(out.bytes().data(), {SY_DEVICE_CPU, 0}, dtype::f32, shape_of(result.view())).get(),
                   result.view());
  device.wait();
  const auto unsound = [](float x) {
    return std::isnan(x) || (std::isinf(x) && x > 0);
  };  // minus infinity: never drawn
  if (std::ranges::any_of(out.values<float>(), unsound)) i.find_non_finite(*context);
  return out;
}

}  // namespace switchyard
