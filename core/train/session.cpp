#include "train/session.hpp"

#include <atomic>
#include <filesystem>
#include <utility>

#include "data/sample_order.hpp"
#include "measure/measure.hpp"
#include "plan/choose.hpp"
#include "plan/trace.hpp"
#include "plugin/chosen.hpp"
#include "schedule/schedule_file.hpp"
#include "store/checkpoint.hpp"
#include "store/run_folder.hpp"
#include "train/batch_spec.hpp"
#include "train/doubts.hpp"
#include "train/lr_schedule.hpp"
#include "train/weights.hpp"

namespace switchyard {

namespace fs = std::filesystem;

Subject open_subject(const std::string& path, const std::vector<std::string>& sets) {
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return {load_config(path, sets), ""};
  const RunFolder run = RunFolder::existing(path);
  if (!fs::exists(run.config(), ignored))
    throw Error(SY_E_CONFIG, "'" + path +
                                 "' has a checkpoint but no config.toml; give the configuration instead, with " +
                                 "--set 'model.weights={file=\"" + run.model() + "\"}'");
  return {load_config(run.config(), sets), run.path()};
}

std::unique_ptr<Registry> open_registry(const Config& config) {
  std::vector<std::string> load, paths;
  for (const Placed& each : config.plugins.load) load.push_back(each.text);
  for (const Placed& each : config.plugins.paths) paths.push_back(each.text);
  return std::make_unique<Registry>(load, paths);
}

struct Session::Impl {
  Impl(Config c, Registry& r) : config(std::move(c)), registry(r) {}

  Config config;
  Registry& registry;
  Purpose purpose{};
  std::string from_run;  // whose checkpoint gives the weights
  std::atomic<bool> working = false;
  std::unique_ptr<Model> model;  // until the pipe takes it
  std::optional<DataSet> data;
  Plan plan;
  double lr = 0;  // of the optimizer, before its schedule
  std::unique_ptr<Tokenizer> tokenizer;
  TrainState state;
  std::string run_folder;
  std::unique_ptr<Pipe> pipe;
  std::atomic<Pipe*> running{nullptr};  // for cancel()

  std::int64_t unknown_rows = 0;  // of the step that was begun, whose result is not known

  Model& the_model() { return pipe ? pipe->model() : *model; }
  /// After a failure: the step that was begun counts only if its result is still to come.
  void take_back_dropped() {
    if (unknown_rows == 0 || pipe->has_begun_step()) return;
    --state.step;
    state.samples -= unknown_rows;
    unknown_rows = 0;
  }
};

namespace {

void check_purpose(const Config& config, Purpose purpose) {
  const bool trains = purpose == Purpose::train || purpose == Purpose::steps;
  if (trains && !config.train)
    throw Error(SY_E_CONFIG, Place{config.file, 0, 0},
                "[train] is missing; add it with steps, batch and optimizer = { type = \"adamw\", lr = 1e-3 }");
}

/// The samples must fill a batch, known before a device is touched.
void check_order(const Config& config, const DataSet& data) {
  try {
    data.order(config.train->batch);
  } catch (const Error& e) {
    throw Error(e.code(), config.train->batch_place, e.what());
  }
}

void check_held_out(const Config& config, const DataSet& data) {
  if (!data.validation)
    throw Error(SY_E_CONFIG, config.data->place,
                "nothing is held out: data.validation is 0; set it to a share such as 0.1, or to a file");
}

}  // namespace

std::unique_ptr<Session> Session::open(Config config, Registry& registry, Purpose purpose, const std::string& run) {
  check_purpose(config, purpose);
  auto impl = std::make_unique<Impl>(std::move(config), registry);
  const Config& c = impl->config;
  impl->purpose = purpose;
  impl->from_run = run;
  ModelAndData opened = open_model(c, registry, purpose == Purpose::train || purpose == Purpose::evaluate);
  impl->model = std::move(opened.model);
  impl->data = std::move(opened.data);
  if (purpose == Purpose::train) check_order(c, *impl->data);
  if (purpose == Purpose::evaluate) check_held_out(c, *impl->data);
  impl->plan = make_plan(c, registry, *impl->model);
  impl->state.seed = c.seed;
  if (c.train) {
    impl->lr = choose_optimizer(c, registry).lr;
    impl->state.optimizer = c.train->optimizer.type;
  }
  return std::unique_ptr<Session>(new Session(std::move(impl)));
}

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;

Session::Working::Working(Session& session) : session_(session) {
  if (session.impl_->working.exchange(true))
    throw Error(SY_E_STATE, "another call works on this pipe; one at a time for each runtime");
}
Session::Working::~Working() { session_.impl_->working = false; }

const Config& Session::config() const { return impl_->config; }
Registry& Session::registry() { return impl_->registry; }
Model& Session::model() { return impl_->the_model(); }
const Plan& Session::plan() const { return impl_->pipe ? impl_->pipe->plan() : impl_->plan; }
std::string Session::plan_text() { return switchyard::plan_text(plan(), model()); }
std::string Session::schedule_text() { return switchyard::schedule_text(plan(), model()); }
std::string Session::plan_json() { return switchyard::plan_json(plan(), model()); }
std::string Session::plan_html() {
  const std::string name =
      impl_->from_run.empty() ? fs::path(config().file).stem().string() : fs::path(impl_->from_run).filename().string();
  return switchyard::plan_html(plan(), model(), name.empty() ? "Plan" : name);
}
std::string Session::plan_trace() { return switchyard::plan_trace(plan(), model()); }
void Session::measure() {
  if (built()) throw Error(SY_E_STATE, "the pipe is built already; measure before it is");
  Impl& i = *impl_;
  std::vector<int64_t> sizes = {i.plan.largest_micro_batch()};
  if (leaves_a_choice(i.config))
    sizes = micro_batch_sizes(i.config, open_choices(i.config, i.registry, i.plan.devices.size()));
  measure_into_file(i.config, i.registry, *i.model, i.plan, sizes);
  i.plan = make_plan(i.config, i.registry, *i.model);
}

bool Session::has_data() const { return impl_->data.has_value(); }

const DataSet& Session::data() const {
  if (!impl_->data) throw Error(SY_E_STATE, "the session was opened without data");
  return *impl_->data;
}

std::vector<std::string> Session::check() {
  if (impl_->config.model.weights && impl_->from_run.empty()) assign_weights(model(), *impl_->config.model.weights);
  return find_doubts(impl_->config, model(), plan(), impl_->data ? &*impl_->data : nullptr);
}

Pipe& Session::pipe() {
  if (impl_->pipe) return *impl_->pipe;
  // What does not fit is found before anything is allocated.
  std::optional<AssignedWeights> weights;
  std::optional<Checkpoint> checkpoint;
  if (!impl_->from_run.empty())
    checkpoint = open_checkpoint(impl_->from_run);
  else if (impl_->config.model.weights)
    weights = assign_weights(*impl_->model, *impl_->config.model.weights);
  if (checkpoint) weights = assign_checkpoint(*impl_->model, checkpoint->paths.model);

  impl_->pipe = Pipe::build(impl_->config, impl_->registry, std::move(impl_->model), std::move(impl_->plan));
  impl_->running = impl_->pipe.get();
  const bool trains = impl_->purpose == Purpose::train || impl_->purpose == Purpose::steps;
  if (checkpoint && trains)
    impl_->state = restore_checkpoint(*impl_->pipe, *checkpoint);
  else if (weights)
    place_weights(*impl_->pipe, *weights);
  return *impl_->pipe;
}

bool Session::built() const { return impl_->pipe != nullptr; }
std::int64_t Session::step() const { return impl_->state.step; }
TrainState& Session::state() { return impl_->state; }
std::string& Session::run_folder() { return impl_->run_folder; }

double Session::lr(std::int64_t step) const {
  if (!impl_->config.train) throw Error(SY_E_STATE, "there is no [train], hence no learning rate");
  return learning_rate(impl_->config.train->lr_schedule, impl_->lr, impl_->config.train->steps, step);
}

StepResult Session::train_step(const Batch& batch) {
  const std::optional<StepResult> at_once = begin_step(batch);
  return at_once ? *at_once : *finish_step();
}

std::optional<StepResult> Session::begin_step(const Batch& batch) {
  TrainState& state = impl_->state;
  const std::int64_t step = state.step + 1;
  try {
    std::optional<StepResult> result = pipe().begin_step(batch, static_cast<std::uint64_t>(step), lr(step));
    state.step = step;
    state.samples += batch.rows();
    impl_->unknown_rows = result && result->step == static_cast<std::uint64_t>(step) ? 0 : batch.rows();
    return result;
  } catch (...) {
    if (pipe().has_begun_step()) finish_step();  // where that one failed as well, it was first
    impl_->take_back_dropped();
    throw;
  }
}

std::optional<StepResult> Session::finish_step() {
  try {
    std::optional<StepResult> result = pipe().finish_step();
    impl_->unknown_rows = 0;
    return result;
  } catch (...) {
    impl_->take_back_dropped();
    throw;
  }
}

Batch Session::batch(std::int64_t step) {
  Batch batch;
  SampleOrder order = data().order(plan().batch);
  data().train->fill(order.step(step), batch);
  return batch;
}

TrainResult Session::train(const TrainOptions& options, const Hooks& hooks) {
  return switchyard::train(*this, options, hooks);
}

Evaluation Session::evaluate() {
  check_held_out(impl_->config, data());
  const std::int64_t windows = impl_->config.train.value_or(TrainConfig()).eval_windows;
  return switchyard::evaluate(pipe(), data(), windows);
}

Generated Session::generate(const GenerateRequest& request, const OnText& on_text) {
  return switchyard::generate(pipe(), tokenizer(), token_context(impl_->config), request, on_text);
}

const Tokenizer& Session::tokenizer() {
  if (!impl_->tokenizer) {
    const auto& data = impl_->config.data;
    impl_->tokenizer = make_tokenizer(data ? data->tokenizer.text : "bytes");
  }
  return *impl_->tokenizer;
}

void Session::save(const std::string& run_folder) {
  const CheckpointContent content = checkpoint_content(pipe(), impl_->state);
  save_checkpoint(run_folder, impl_->state.step, content, static_cast<int>(impl_->config.checkpoint.keep));
}

void Session::load(const std::string& run_folder) {
  const Checkpoint checkpoint = open_checkpoint(run_folder);
  impl_->state = restore_checkpoint(pipe(), checkpoint);
}

void Session::start_from(const std::string& run_folder) {
  if (built()) throw Error(SY_E_STATE, "the pipe is built already; load() takes another state into it");
  impl_->from_run = run_folder;
}

void Session::load_weights(const WeightsConfig& weights) { place_weights(pipe(), assign_weights(model(), weights)); }

void Session::cancel() {
  if (Pipe* pipe = impl_->running) pipe->cancel();
}

}  // namespace switchyard
