// Norm, clip factor and skip of a step: decided on the devices, known to the host when it asks.

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/dtype.hpp"
#include "engine/pipe_impl.hpp"
#include "plugin/host.hpp"

namespace switchyard {

namespace {

OwnedView norms_of(const DeviceStorage::Span& span, const Device& device) {
  return OwnedView(span.norms.data(), device.id(), dtype::f64, {static_cast<int64_t>(span.parameters.size())});
}

}  // namespace

/// Squares lie by device, span and segment, and are added in the order of the model.
void Pipe::Impl::make_decisions() {
  for (const auto& device : devices)
    if (optimizer && !(device->backend()->api().caps & SY_B_DECIDES))
      throw Error(SY_E_CONFIG, std::string("the backend '") + device->backend()->api().id + "' of device " +
                                   device->name() + " cannot train: it has no 'decide'");
  std::vector<int32_t> order(model->parameters().size(), -1);
  int32_t count = 0;
  first_square.assign(devices.size(), {});
  for (std::size_t d = 0; optimizer && d < devices.size(); ++d)
    for (const DeviceStorage::Span& s : storage[d]->spans()) {
      first_square[d].push_back(count);
      for (const int p : s.parameters) order[p] = count++;
    }
  std::erase(order, -1);
  decisions.resize(devices.size());
  on_all([this, order](int d) { decisions[d] = std::make_unique<Decision>(*devices[d], order); });
  ends.resize(devices.size());
  may_be_late = std::ranges::all_of(devices, [](const auto& d) { return d->is_asynchronous(); });
  for (const Parameter& p : model->parameters())
    if (p.kind == SY_ACCUMULATOR) may_be_late = false;
}

void Pipe::Impl::decide(Posted& posted, double lr, uint32_t flags) {
  const Context context = posted.context;
  const int results = static_cast<int>(context->results.size());
  const int loss_device = plan.device_of_layer(model->loss());
  const auto ready = std::make_shared<std::vector<Event>>(devices.size());
  on_all([this, context, results, loss_device, ready](int d) {
    if (optimizer)
      for (DeviceStorage::Span& s : storage[d]->spans())
        call_plugin([&](sy_error** e) {
          return optimizer->optimizer.api().norms(optimizer->optimizer.get(), &s.span,
                                                  reinterpret_cast<double*>(s.norms.data()), devices[d]->stream(),
                                                  devices[d]->native_stream(), e);
        });
    decisions[d]->make_room_for_losses(results);
    for (int i = 0; d == loss_device && i < results; ++i)
      devices[d]->copy_into(decisions[d]->losses(i, 1).get(), context->results[i].view());
    (*ready)[d] = devices[d]->mark();
  });
  DecisionTerms terms;
  terms.flags = flags;
  terms.losses = posted.valid > 0 ? results : 0;
  terms.lr = lr;
  terms.loss_scale = posted.loss_scale;
  terms.clip_norm = clip_norm;
  on_all([this, results, loss_device, ready, terms](int d) {
    if (devices[d]->is_asynchronous())
      for (const Event& e : *ready) devices[d]->wait_for(e);
    for (std::size_t from = 0; from < devices.size(); ++from)
      for (std::size_t s = 0; s < first_square[from].size(); ++s) {
        const DeviceStorage::Span& span = storage[from]->spans()[s];
        const OwnedView to = decisions[d]->squares(first_square[from][s], static_cast<int>(span.parameters.size()));
        devices[d]->copy_from(to.get(), norms_of(span, *devices[from]).get(), *devices[from], (*ready)[from]);
      }
    if (d != loss_device && results > 0)
      devices[d]->copy_from(decisions[d]->losses(0, results).get(), decisions[loss_device]->losses(0, results).get(),
                            *devices[loss_device], (*ready)[loss_device]);
    decisions[d]->decide(terms);
    ends[d] = devices[d]->mark();
  });
  post_outcome(posted);
}

void Pipe::Impl::post_outcome(Posted& posted) {
  const int loss_device = plan.device_of_layer(model->loss());
  const Device& device = *devices[loss_device];
  const int results = static_cast<int>(posted.context->results.size());
  const std::size_t losses = static_cast<std::size_t>(results) * 2 * sizeof(float);
  std::byte* const to = desks[posted.desk].outcome.take(sizeof(sy_outcome) + losses, device.backend());
  const sy_device host{SY_DEVICE_CPU, 0};
  device.copy_into(OwnedView(to, host, dtype::u8, {sizeof(sy_outcome)}).get(), decisions[loss_device]->outcome().get());
  if (results > 0)
    device.copy_into(OwnedView(to + sizeof(sy_outcome), host, dtype::f32, {int64_t{2} * results}).get(),
                     decisions[loss_device]->losses(0, results).get());
  desks[posted.desk].marks.resize(devices.size());
  for (std::size_t d = 0; d < devices.size(); ++d) std::swap(desks[posted.desk].marks[d], recorders[d]->marks());
  posted.outcome_is_there = device.mark();
}

StepResult Pipe::Impl::result_of(const Posted& posted) {
  try {
    posted.outcome_is_there.wait();
  } catch (const Error& e) {
    Error named(e.code(), "step " + std::to_string(posted.context->step) + ": " + e.what());
    for (const auto& [key, value] : e.notes()) named.note(key, value);
    if (!poisoned) poisoned = named;
    throw named;
  }
  sy_outcome outcome{};
  const std::byte* const from = desks[posted.desk].outcome.data();
  std::memcpy(&outcome, from, sizeof outcome);
  applied = outcome.applied;

  StepResult r = posted.times;
  r.step = posted.context->step;
  r.valid = posted.valid;
  r.grad_norm = outcome.grad_norm;
  r.skipped = outcome.skipped != 0;
  r.loss_scale = posted.loss_scale;
  for (std::size_t d = 0; d < devices.size(); ++d) {
    const StepMarks& marks = desks[posted.desk].marks[d];
    if (marks.empty()) continue;
    const StepMarks::Times times = marks.read();
    r.busy[d] = times.busy;
    r.passes_s = std::max(r.passes_s, times.passes);
  }
  std::vector<std::array<float, 2>> losses(posted.context->results.size());
  std::memcpy(losses.data(), from + sizeof outcome, losses.size() * sizeof(losses[0]));
  add_losses(losses, r);
  return r;
}

StepResult Pipe::Impl::take(const Posted& posted, bool later) {
  StepResult r = result_of(posted);
  if (!r.skipped || is_scaled()) return r;
  settle();
  set_applied(applied);  // and those that were held go on
  find_non_finite(*posted.context);
  if (later) {  // whose gradients have taken the place of this one's
    Posted again = posted.again();
    run_passes(again);
    settle();
  }
  throw unsound_gradient(r.step);
}

void Pipe::Impl::check_finished() const {
  if (pending) throw Error(SY_E_STATE, "a step was begun; its result must be taken first (finish_step)");
}

void Pipe::Impl::set_applied(int64_t steps) {
  applied = steps;
  for (const auto& decision : decisions) decision->set_applied(steps);
}

// ---- steps --------------------------------------------------------------------------------------------------------

StepResult Pipe::gradients(const Batch& batch, uint64_t step) {
  Impl& i = *impl_;
  i.check_finished();
  const Impl::Context context = i.context_for(SY_TRAIN, batch.inputs, &batch.targets);
  context->step = step;
  Impl::Cancellable cancellable(i);
  Impl::Posted posted = i.post_gradients(batch, context);
  i.decide(posted, 0, 0);
  i.wait_for_all();
  cancellable.end();
  StepResult result = i.result_of(posted);
  result.skipped = false;
  return result;
}

std::optional<StepResult> Pipe::begin_step(const Batch& batch, uint64_t step, double lr) {
  Impl& i = *impl_;
  if (!i.optimizer) throw Error(SY_E_STATE, "the configuration has no [train]; there is no optimizer to step with");
  const bool late = i.is_late();
  if (!late) i.check_finished();
  if (i.pending) i.desk = 1 - i.pending->desk;
  const Impl::Context context = i.context_for(SY_TRAIN, batch.inputs, &batch.targets);
  context->step = step;
  Impl::Cancellable cancellable(i);
  Impl::Posted posted = i.post_gradients(batch, context);
  cancellable.end();
  i.decide(posted, lr, SY_DECIDE_COUNTS | (i.is_scaled() ? 0u : uint32_t{SY_DECIDE_HOLDS}));
  if (!late) {
    i.wait_for_all();
    StepResult result = i.take(posted, false);
    if (!result.skipped) i.update(context);
    i.loss_scale.update(!result.skipped);
    return result;
  }
  i.update(context);
  const std::optional<Impl::Posted> before = std::exchange(i.pending, std::move(posted));
  if (!before) return std::nullopt;
  try {
    return i.take(*before, true);
  } catch (...) {
    i.pending.reset();
    throw;
  }
}

std::optional<StepResult> Pipe::finish_step() {
  Impl& i = *impl_;
  if (i.poisoned) i.pending.reset();  // it ended with the devices
  if (!i.pending) return std::nullopt;
  const std::optional<Impl::Posted> posted = std::exchange(i.pending, std::nullopt);
  return i.take(*posted, false);
}

StepResult Pipe::step(const Batch& batch, uint64_t step, double lr) {
  impl_->check_finished();
  const std::optional<StepResult> at_once = begin_step(batch, step, lr);
  return at_once ? *at_once : *finish_step();
}

bool Pipe::has_begun_step() const { return impl_->pending.has_value(); }

bool Pipe::results_are_late() const { return impl_->is_late(); }

void Pipe::make_results_late() {
  for (const Parameter& p : impl_->model->parameters())
    if (p.kind == SY_ACCUMULATOR) throw Error(SY_E_STATE, "'" + p.name + "' is finished only after a step that counts");
  impl_->may_be_late = true;
}

}  // namespace switchyard
