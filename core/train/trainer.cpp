#include "train/trainer.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <utility>

#include "store/checkpoint.hpp"
#include "store/folder_lock.hpp"
#include "train/batch_feed.hpp"
#include "train/run_files.hpp"
#include "train/session.hpp"
#include "train/step_trace.hpp"

namespace switchyard {
namespace {

using Clock = std::chrono::steady_clock;
double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// fp16: so many skipped steps in a row mean that no scale is small enough.
constexpr std::int64_t most_skipped = 60;

/// One call of train().
class Trainer {
 public:
  Trainer(Session& session, const TrainOptions& options, const Hooks& hooks)
      : session_(session), options_(options), hooks_(hooks), config_(session.config()), train_(*config_.train) {}

  TrainResult run() {
    const bool fresh = !session_.built();
    if (fresh && !options_.resume.empty()) session_.start_from(options_.resume);
    for (const std::string& doubt : session_.check()) say("warning: " + doubt);
    const std::optional<RunFolder> folder = choose_folder();
    if (folder) lock_.emplace(folder->path());
    if (!options_.trace.empty()) trace_.emplace(options_.trace, session_);
    prepare(folder, fresh);
    result_.sample_before = sample();
    try {
      loop();
      if (trace_) trace_->finish();
    } catch (const Error& failure) {
      show_after_failure();
      throw with_checkpoint(failure);
    }
    end();
    return std::move(result_);
  }

 private:
  std::int64_t step() const { return session_.step(); }
  void say(const std::string& line) const {
    if (hooks_.event) hooks_.event(line);
  }

  std::optional<RunFolder> choose_folder() {
    if (!options_.files) return std::nullopt;
    if (!session_.run_folder().empty() && options_.out.empty() && options_.resume.empty())
      return RunFolder::existing(session_.run_folder());  // a further call of train()
    if (!options_.resume.empty()) {
      const RunFolder from = RunFolder::existing(options_.resume);
      std::error_code ignored;
      if (options_.out.empty() || std::filesystem::equivalent(options_.out, from.path(), ignored)) return from;
    }
    return options_.out.empty() ? RunFolder::next(config_.file) : RunFolder::at(options_.out);
  }

  /// Places the weights and takes up the run's files.
  void prepare(const std::optional<RunFolder>& folder, bool fresh) {
    const std::string plan = folder ? session_.plan_json() : "";
    session_.pipe();
    if (!options_.resume.empty()) resume(fresh);
    if (!folder) return;
    session_.run_folder() = result_.folder = folder->path();
    if (RunFolder::is_run(folder->path())) saved_ = step();
    files_.emplace(*folder, config_, plan, step(), options_.resume);
    seconds_before_ = files_->seconds();
  }

  /// A fresh session's pipe has begun with the checkpoint already.
  void resume(bool fresh) {
    const CheckpointPaths found = find_checkpoint(options_.resume).value();
    for (const std::string& note : found.notes) say(note);
    if (!fresh) session_.load(options_.resume);
    say("resumed after step " + std::to_string(step()) + " from " + found.folder);
    TrainState& state = session_.state();
    if (state.seed != config_.seed)
      say("warning: seed is " + std::to_string(config_.seed) + ", the run began with " + std::to_string(state.seed) +
          ": samples come in another order from here on");
    if (step() >= train_.steps)
      say("nothing to do: train.steps = " + std::to_string(train_.steps) + " are done; set a larger number to go on");
    state.seed = config_.seed;
    state.optimizer = train_.optimizer.type;
  }

  void loop() {
    begin_ = interval_begin_ = Clock::now();
    interval_first_ = step();
    BatchFeed feed(session_.data(), session_.plan().batch, train_.steps);
    first_ = step();
    result_.stopped = options_.at_most == 0;
    while (step() < train_.steps && !result_.stopped) {
      const Clock::time_point before = Clock::now();
      const Batch& batch = feed.of(step() + 1);
      if (trace_) trace_->before_step(steps_left());
      std::optional<StepResult> done = session_.begin_step(batch);
      if (done && done->step < static_cast<std::uint64_t>(step())) after_late_step(*std::exchange(done, std::nullopt));
      count(batch);
      if (!done && wants_result()) done = session_.finish_step();
      busy_ += seconds_since(before);
      if (trace_) trace_->after_step(step());
      if (!done) continue;
      count_skipped(*done);
      count_time(*done);
      after_step(*done, step() == train_.steps);
    }
  }

  static bool is_due(std::int64_t every, std::int64_t step) { return every > 0 && step % every == 0; }

  /// Whether something happens after this step that needs the devices to be done with it.
  bool wants_result() const {
    const std::int64_t s = step();
    return trace_ || s == train_.steps || asked_to_stop() || (options_.at_most && s - first_ >= *options_.at_most) ||
           is_due(train_.report_every, s) || is_due(train_.eval_every, s) ||
           (files_ && is_due(config_.checkpoint.every, s));
  }

  /// One that wants_result() let go by; the next one has been begun.
  void after_late_step(const StepResult& done) {
    count_skipped(done);
    count_time(done);
    if (hooks_.tick) hooks_.tick(report_of(done));
  }

  /// Of this call.
  std::int64_t steps_left() const {
    const std::int64_t left = train_.steps - step();
    return options_.at_most ? std::min(left, first_ + *options_.at_most - step()) : left;
  }

  void count_time(const StepResult& done) {
    device_busy_.resize(done.busy.size(), 0.0);
    for (std::size_t d = 0; d < done.busy.size(); ++d)
      device_busy_[d] =
          done.busy[d] && device_busy_[d] ? std::optional(*device_busy_[d] + *done.busy[d]) : std::nullopt;
    passes_ += done.passes_s;
  }

  bool asked_to_stop() const { return hooks_.stop && hooks_.stop->load(); }

  /// The engine refuses numbers that are not finite unless a loss scale may be the reason; then the step is skipped.
  void count_skipped(const StepResult& done) {
    skipped_ = done.skipped ? skipped_ + 1 : 0;
    if (skipped_ < most_skipped) return;
    char text[240];
    std::snprintf(text, sizeof text,
                  "step %lld: the gradients of %lld steps in a row were not finite, down to a loss scale of %g; lower "
                  "train.optimizer.lr (%g here), or set precision.type = \"bf16\"",
                  static_cast<long long>(done.step), static_cast<long long>(skipped_), done.loss_scale,
                  session_.lr(static_cast<std::int64_t>(done.step)));
    throw Error(SY_E_DATA, text);
  }

  /// The failure, and from where the run can go on.
  Error with_checkpoint(const Error& failure) const {
    const auto checkpoint = files_ ? find_checkpoint(files_->folder().path()) : std::nullopt;
    if (!checkpoint) return failure;
    Error told(failure.code(), std::string(failure.what()) + "; the last checkpoint stays in " + checkpoint->folder);
    for (const auto& [key, value] : failure.notes()) told.note(key, value);
    return told;
  }

  void count(const Batch& batch) {
    if (counts_tokens_ = session_.data().train->targets().kind == TargetKind::tokens; counts_tokens_)
      interval_tokens_ += batch.inputs.shape()[0] * batch.inputs.shape()[1];
    else
      interval_tokens_ += batch.rows();
  }

  void after_step(const StepResult& done, bool last) {
    result_.step = step();
    result_.loss = done.loss;
    Report report = report_of(done);
    if (hooks_.tick) hooks_.tick(report);  // which may ask to stop after this very step
    result_.stopped = !last && (asked_to_stop() || (options_.at_most && step() - first_ >= *options_.at_most));
    const auto due = [&](std::int64_t every) { return is_due(every, step()); };
    if ((last || due(train_.eval_every)) && !result_.stopped && session_.data().validation) evaluate(report);
    if (last || result_.stopped || report.val_loss || due(train_.report_every)) publish(report);
    if (files_ && (last || result_.stopped || due(config_.checkpoint.every))) save();
  }

  Report report_of(const StepResult& done) const {
    Report r;
    r.step = static_cast<std::int64_t>(done.step);
    r.steps = train_.steps;
    r.loss = done.loss;
    r.grad_norm = done.grad_norm;
    r.lr = session_.lr(r.step);
    r.skipped = done.skipped;
    if (config_.precision.type == "fp16") r.loss_scale = done.loss_scale;
    r.accuracy = done.accuracy;
    r.counts_tokens = counts_tokens_;
    r.tokens = session_.state().samples * (counts_tokens_ ? session_.data().train->inputs().shape[0] : 1);
    r.tokens_per_s = busy_ > 0 ? static_cast<double>(interval_tokens_) / busy_ : 0;
    r.seconds = seconds_before_ + seconds_since(begin_);
    const auto steps = static_cast<double>(step() - interval_first_);
    r.seconds_left = seconds_since(interval_begin_) / steps * static_cast<double>(train_.steps - step());
    r.peaks = session_.pipe().peaks();
    for (const std::optional<double>& busy : device_busy_)
      r.idle.push_back(busy && passes_ > 0 ? std::optional(1 - *busy / passes_) : std::nullopt);
    return r;
  }

  void evaluate(Report& report) {
    const Evaluation held_out = session_.evaluate();
    report.val_loss = held_out.loss;
    report.val_accuracy = held_out.accuracy;
    report.seconds = seconds_before_ + seconds_since(begin_);
    if (step() != train_.steps) return;
    result_.val_loss = held_out.loss;
    result_.val_accuracy = held_out.accuracy;
  }

  void publish(const Report& report) {
    if (files_) files_->write(metrics_of(report));
    if (files_ && report.val_loss) files_->draw();
    if (hooks_.report) hooks_.report(report);
    interval_tokens_ = 0;
    busy_ = passes_ = 0;
    device_busy_.clear();
    interval_first_ = step();
    interval_begin_ = Clock::now();
  }

  static Metrics metrics_of(const Report& r) {
    Metrics m;
    m.step = r.step;
    m.loss = r.loss;
    m.grad_norm = r.grad_norm;
    m.lr = r.lr;
    m.tokens = r.tokens;
    m.tokens_per_s = r.tokens_per_s;
    m.seconds = r.seconds;
    m.val_loss = r.val_loss;
    for (const DevicePeak& peak : r.peaks)
      m.peak_bytes.emplace_back(peak.device, static_cast<std::int64_t>(peak.measured));
    for (std::size_t d = 0; d < r.idle.size(); ++d)
      if (r.idle[d]) m.idle.emplace_back(r.peaks[d].device, *r.idle[d]);
    if (r.accuracy) m.more.emplace_back("accuracy", *r.accuracy);
    if (r.val_accuracy) m.more.emplace_back("val_accuracy", *r.val_accuracy);
    if (r.loss_scale) m.more.emplace_back("loss_scale", *r.loss_scale);
    if (r.loss_scale) m.more.emplace_back("skipped", r.skipped ? 1 : 0);
    return m;
  }

  void save() {
    session_.save(files_->folder().path());
    saved_ = step();
    say("checkpoint of step " + std::to_string(step()) + ": " + files_->folder().path() + "/checkpoint");
  }

  void end() {
    result_.step = step();
    result_.seconds = seconds_since(begin_);
    result_.peaks = session_.pipe().peaks();
    if (files_ && saved_ != step()) save();  // no step was made: the first weights
    if (!result_.stopped) result_.sample_after = step() > 0 ? sample() : result_.sample_before;
    if (files_) files_->draw();
  }

  /// A text of the model as it is now, where it writes text and knows its tokens; "" otherwise.
  std::string sample() {
    const bool text = config_.data && config_.data->source == DataConfig::Source::text;
    if (!files_ || !text) return "";
    GenerateRequest request = GenerateRequest::from(config_);
    request.overflow = "slide";
    std::string written;
    try {
      written = session_.generate(request, [&](const std::string&) { return !asked_to_stop(); }).text;
    } catch (const Error& e) {
      if (e.code() != SY_E_CONFIG) throw;
      say(std::string("warning: no sample of text: ") + e.what());
      return "";
    }
    files_->sample(step(), request.prompt, written);
    return written;
  }

  void show_after_failure() {
    try {
      session_.finish_step();
      if (trace_) trace_->finish();
      if (files_) files_->draw();
    } catch (const std::exception&) {  // the first failure is the one to tell
    }
  }

  Session& session_;
  const TrainOptions& options_;
  const Hooks& hooks_;
  const Config& config_;
  const TrainConfig& train_;
  std::optional<FolderLock> lock_;  // of the run's folder
  std::optional<RunFiles> files_;
  std::optional<StepTrace> trace_;
  TrainResult result_;
  std::int64_t saved_ = -1, skipped_ = 0;
  bool counts_tokens_ = true;
  Clock::time_point begin_;
  double seconds_before_ = 0;  // in earlier calls and before a resume
  // Since the last report:
  Clock::time_point interval_begin_;
  std::int64_t interval_first_ = 0;  // step
  std::int64_t first_ = 0;           // the step before this call's first one
  std::int64_t interval_tokens_ = 0;
  double busy_ = 0;                                 // seconds of steps and waiting for batches
  double passes_ = 0;                               // of the pipeline's passes alone
  std::vector<std::optional<double>> device_busy_;  // of them, inside of actions
};

}  // namespace

TrainResult train(Session& session, const TrainOptions& options, const Hooks& hooks) {
  if (!session.config().train) throw Error(SY_E_CONFIG, Place{session.config().file, 0, 0}, "[train] is missing");
  session.data();  // SY_E_STATE: opened for something else
  return Trainer(session, options, hooks).run();
}

}  // namespace switchyard
