// Pipes: plans at work on batches of the caller's.
#include "engine/pipe.hpp"

#include <limits>
#include <nlohmann/json.hpp>

#include "api/batch.hpp"
#include "api/call.hpp"
#include "api/handle.hpp"

using namespace switchyard;
using namespace switchyard::api;

namespace {

constexpr double none = std::numeric_limits<double>::quiet_NaN();

std::unique_ptr<sy_pipe> build_pipe(const std::shared_ptr<RuntimeState>& state) {
  auto pipe = std::make_unique<sy_pipe>();
  pipe->state = state;
  const Subject& subject = state->configured();
  const Purpose purpose = subject.config.train ? Purpose::steps : Purpose::plan;
  pipe->session = Session::open(subject.config, *state->registry, purpose, subject.run);
  pipe->session->pipe();
  return pipe;
}

Batch batch_of(Session& session, const sy_view* inputs, const sy_view* targets) {
  const BatchSpec& spec = session.model().batch();
  Batch batch;
  batch.inputs = host_tensor(inputs, spec.input_dtype, "inputs");
  batch.targets = host_tensor(targets, spec.target_dtype, "targets");
  return batch;
}

sy_step_result result_of(const StepResult& from, const Session& session, bool trained) {
  sy_step_result r{};
  r.skipped = from.skipped;
  r.step = session.step();
  r.valid = from.valid;
  r.loss = from.loss;
  r.accuracy = or_nan(from.accuracy);
  r.grad_norm = trained ? from.grad_norm : none;
  r.lr = trained ? session.lr(session.step()) : none;
  r.loss_scale = from.loss_scale;
  return r;
}

/// A host tensor as a counted tensor that owns it.
sy_tensor* wrap(HostTensor&& tensor) {
  auto owner = std::make_unique<HostTensor>(std::move(tensor));
  Shape shape = owner->shape();
  sy_view view{};
  view.data = owner->bytes().data();
  view.device = {SY_DEVICE_CPU, 0};
  view.ndim = static_cast<int32_t>(shape.size());
  view.dtype = owner->dtype();
  view.shape = shape.data();
  return wrap_tensor(view, owner.release(), [](void* taken) { delete static_cast<HostTensor*>(taken); });
}

}  // namespace

sy_rc sy_pipe_build(sy_plan* plan, sy_pipe** give, sy_error** err) {
  return guard(err, [&] {
    const std::shared_ptr<RuntimeState> state = alive(plan).state;
    need(give, "give");
    give_handle(give, build_pipe(state));
  });
}

void sy_pipe_close(sy_pipe* take) { close_handle(take); }

sy_rc sy_pipe_step(sy_pipe* pipe, const sy_view* inputs, const sy_view* targets, sy_step_result* result,
                   sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(pipe).session;
    check_struct(result, "result");
    if (!session.config().train) throw Error(SY_E_STATE, "the configuration has no [train]: it cannot take a step");
    run_on(session, [&] {
      const StepResult done = session.train_step(batch_of(session, inputs, targets));
      pipe->micro_losses = done.micro_losses;
      fill_struct(result, result_of(done, session, true));
    });
  });
}

sy_rc sy_pipe_evaluate(sy_pipe* pipe, const sy_view* inputs, const sy_view* targets, sy_step_result* result,
                       sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(pipe).session;
    check_struct(result, "result");
    run_on(session, [&] {
      const StepResult done = session.pipe().evaluate(batch_of(session, inputs, targets));
      pipe->micro_losses = done.micro_losses;
      fill_struct(result, result_of(done, session, false));
    });
  });
}

sy_rc sy_pipe_micro_losses(sy_pipe* pipe, double* out, uint32_t capacity, uint32_t* count, sy_error** err) {
  return guard(err, [&] { give_list(alive(pipe).micro_losses, out, capacity, count); });
}

sy_rc sy_pipe_forward(sy_pipe* pipe, const sy_view* inputs, uint32_t flags, sy_tensor** give, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(pipe).session;
    need(give, "give");
    if (flags & ~SY_FORWARD_LAST) throw Error(SY_E_ARGUMENT, "flags: only SY_FORWARD_LAST is known");
    run_on(session, [&] {
      const HostTensor given = host_tensor(inputs, session.model().batch().input_dtype, "inputs");
      *give = wrap(session.pipe().forward(given, flags & SY_FORWARD_LAST));
    });
  });
}

sy_rc sy_pipe_save(sy_pipe* pipe, const char* folder, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(pipe).session;
    run_on(session, [&] { session.save(need(folder, "folder")); });
  });
}

sy_rc sy_pipe_load(sy_pipe* pipe, const char* folder, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(pipe).session;
    run_on(session, [&] { session.load(need(folder, "folder")); });
  });
}

sy_rc sy_pipe_peaks(sy_pipe* pipe, char** give_json, sy_error** err) {
  return guard(err, [&] {
    Session& session = *alive(pipe).session;
    need(give_json, "give_json");
    nlohmann::ordered_json json = {{"devices", nlohmann::ordered_json::array()}};
    for (const DevicePeak& peak : session.pipe().peaks())
      json["devices"].push_back({{"name", peak.device}, {"planned", peak.planned}, {"measured", peak.measured}});
    give_text(give_json, json.dump());
  });
}

sy_rc sy_pipe_cancel(sy_pipe* pipe, sy_error** err) {
  return guard(err, [&] { alive(pipe).session->cancel(); });
}
