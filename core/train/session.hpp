// One configuration at work: what the application API is made of.
//
//   open_subject ─▶ Config ─▶ open_registry ─▶ Session::open ─▶ model() ─▶ plan() ─▶ pipe() ─▶ train, evaluate,
//   generate
//    CONFIG | RUN                               reads data       no device           weights are placed
//
// Stand-alone beside it: compare (train/compare.hpp), inspect (train/inspect.hpp).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/data_set.hpp"
#include "engine/pipe.hpp"
#include "generate/generate.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "plugin/registry.hpp"
#include "train/checkpoint_state.hpp"
#include "train/evaluate.hpp"
#include "train/trainer.hpp"

namespace switchyard {

/// What a CONFIG | RUN argument names.
struct Subject {
  Config config;    // a run's own config.toml for a run
  std::string run;  // the run's folder; "" for a configuration
};
/// Errors: SY_E_NOT_FOUND, SY_E_CONFIG (a folder without config.toml or checkpoint, a wrong configuration).
Subject open_subject(const std::string& path, const std::vector<std::string>& sets = {});

/// A registry with the configuration's [plugins].
std::unique_ptr<Registry> open_registry(const Config& config);

/// What a session is for decides what is asked of the configuration and which files are opened.
enum class Purpose {
  plan,      // no data file where [model] tells enough
  train,     // [train], [data] and its files
  evaluate,  // [data] and its files, a held-out part
  generate,  // a token model
  steps      // [train]; batches come from the caller
};

/// [ctl] unless said otherwise: one thread at a time. Everything it lends lives as long as the session.
class Session {
 public:
  /// Opens the data that the purpose needs, creates the model, makes the plan. No device is touched. `run`: weights
  /// come from that run's checkpoint, else from [model] weights, else they are drawn. `registry` is lent and must
  /// outlive the session. Errors: SY_E_CONFIG and the like with every mistake placed; SY_E_INFEASIBLE when a budget is
  /// exceeded.
  static std::unique_ptr<Session> open(Config config, Registry& registry, Purpose purpose, const std::string& run = "");
  ~Session();
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  const Config& config() const;
  Registry& registry();
  Model& model();
  const Plan& plan() const;
  std::string plan_text();
  std::string plan_json();
  std::string plan_html();
  std::string plan_trace();
  std::string schedule_text();  // for schedule.type = "file"
  /// Times layers, updates and hand-overs of the plan on its devices, adds them to CONFIG.costs.json, and plans anew
  /// from them. SY_E_CONFIG for devices that are not here; SY_E_STATE once the pipe is built.
  void measure();
  bool has_data() const;
  const DataSet& data() const;  // SY_E_STATE: none
  /// Everything that can be known before training beyond what open() checked: that [model] weights fit, the samples are
  /// enough, [generate] is in order. One line for each thing that is legal and yet doubtful.
  std::vector<std::string> check();

  /// Built at the first call: allocates, draws or reads the weights. SY_E_STATE for a device that is only planned for.
  Pipe& pipe();
  bool built() const;

  /// While it lives a call works on the session. Throws SY_E_STATE where another call does: of another thread, or the
  /// one in whose callback this one is made. [any]
  class Working {
   public:
    explicit Working(Session& session);
    ~Working();
    Working(const Working&) = delete;
    Working& operator=(const Working&) = delete;

   private:
    Session& session_;
  };

  /// Optimizer steps done, those before a resume included.
  std::int64_t step() const;
  /// The learning rate of a step (from 1).
  double lr(std::int64_t step) const;
  /// One optimizer step on a batch of the caller's: step() + 1, with its learning rate.
  StepResult train_step(const Batch& batch);
  /// The same without waiting for it where results may be late (Pipe::begin_step): the result of the step before, and of
  /// this one by finish_step(). step() counts it at once; a failure takes back what it drops.
  std::optional<StepResult> begin_step(const Batch& batch);
  std::optional<StepResult> finish_step();
  /// The samples of a step, as [data] has them.
  Batch batch(std::int64_t step);

  TrainResult train(const TrainOptions& options, const Hooks& hooks = {});
  Evaluation evaluate();  // train.eval_windows of [data]'s held-out part
  Generated generate(const GenerateRequest& request, const OnText& on_text = {});
  /// What text is made of: SY_E_CONFIG where the model has none.
  const Tokenizer& tokenizer();

  /// A checkpoint pair (model.safetensors, optimizer.safetensors) of the present state, as a run's folder holds it.
  void save(const std::string& run_folder);
  /// Takes weights, optimizer states, counters and loss scale from a run's checkpoint, written under whatever plan.
  /// Errors: SY_E_NOT_FOUND, SY_E_DATA, SY_E_CONFIG listing every tensor that does not fit. On an error nothing has
  /// changed.
  void load(const std::string& run_folder);
  /// The same before the pipe is built: it then begins with that run's state, and [model] weights are not read.
  /// SY_E_STATE once it is built.
  void start_from(const std::string& run_folder);
  /// Weights alone, by [model] weights' rules (a safetensors file, an index or a folder).
  void load_weights(const WeightsConfig& weights);

  /// Ends the step that is going on: it is dropped, and its call throws SY_E_CANCELLED. [any]
  void cancel();

  // For the trainer.
  TrainState& state();
  std::string& run_folder();  // that train() writes into; "" before

 private:
  struct Impl;
  explicit Session(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
