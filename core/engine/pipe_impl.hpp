// The inside of a Pipe, shared by building, stepping and reading.
#pragma once

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/crew.hpp"
#include "engine/decision.hpp"
#include "engine/failure.hpp"
#include "engine/pinned_copy.hpp"
#include "engine/pipe.hpp"
#include "engine/recorder.hpp"
#include "engine/stage.hpp"
#include "engine/storage.hpp"
#include "plugin/chosen.hpp"

namespace switchyard {

struct Pipe::Impl {
  using Context = std::shared_ptr<StepContext>;
  /// A step (or the gradients of one) as it was handed to the devices.
  struct Posted {
    Context context;
    std::vector<std::pair<int, int>> passes;  // first micro-batch, how many
    int desk = 0;
    int64_t valid = 0;
    double loss_scale = 1;
    StepResult times;
    Event outcome_is_there;  // and with it every mark
    /// To be run once more; deterministic.
    Posted again() const;
  };

  Impl(const Config& config, Registry& registry, std::unique_ptr<Model> model, Plan plan);
  ~Impl();

  // ---- built once, in this order; destroyed in the reverse one
  std::unique_ptr<Model> model;
  Plan plan;
  uint64_t seed = 0;
  double clip_norm = 0;
  double stop_within = 10;
  uint32_t call_flags = 0;
  std::optional<OptimizerChoice> optimizer;
  ChosenSchedule forward_schedule;
  LossScale loss_scale;
  std::vector<std::unique_ptr<Device>> devices;
  std::shared_ptr<OpenedBackend> asynchronous;  // of the first device that is; NULL: none is
  std::vector<Stored> stored;
  std::vector<std::unique_ptr<DeviceStorage>> storage;
  std::vector<std::unique_ptr<Decision>> decisions;  // one for each device
  std::vector<std::vector<int>> first_square;        // of each device's spans, in every device's Decision
  bool may_be_late = false;                          // see begin_step()
  std::vector<std::unique_ptr<EdgeLink>> links;      // one for each edge
  std::vector<std::unique_ptr<Recorder>> recorders;  // one for each device
  std::vector<std::unique_ptr<StageRunner>> stages;
  Failure failure;
  std::unique_ptr<Crew> crew;

  // ---- changes from step to step
  int64_t applied = 0;
  uint32_t param_version = 1;
  std::vector<Event> ends;  // of each device's part in the last step: nobody reads what it shares any more
  /// What must stay on the host until a step is done; two, for the step that runs and the one that is begun.
  struct Desk {
    PinnedCopy inputs, targets;            // bytes of the batch, where they must outlive the call
    HostTensor inputs_like, targets_like;  // its types and shapes
    PinnedRoom outcome;                    // sy_outcome, then the losses of micro-batches
    std::vector<StepMarks> marks;          // of each device
  };
  std::array<Desk, 2> desks;
  int desk = 0;
  std::optional<Posted> pending;  // begun, its result not given yet
  std::optional<Recorder::Clock::time_point> recording_since;
  std::vector<RecordedPass> recorded;
  std::optional<Error> poisoned;                                     // why no further step is possible
  std::map<int, std::vector<std::vector<Action>>> forward_programs;  // by micro-batches

  // ---- pipe.cpp
  void open_devices(const Config& config);
  /// Allocates, draws and binds. Threads may hang in it, so that it is not the constructor's. Throws.
  void start(const Config& config, Registry& registry);
  void allocate(const StorageOptions& options);
  /// Edges that carry tensors of these shapes, and all of the plan's; the threads are idle.
  void open_links(const std::vector<MicroBatchInput>& micro_batches);
  void draw_initial_values();
  void check_usable() const;

  // ---- pipe_step.cpp
  /// body(device number) on every device's thread; throws the first failure after everybody stopped, or at the latest
  /// `stop_within` after it. A body that hangs outlives the call: what it refers to is the Impl's, or its own.
  void on_all(std::function<void(int)> body);
  /// Gives when it began.
  Recorder::Clock::time_point run_pass(const std::vector<std::vector<Action>>& programs, const Context& context,
                                       int first, int count);
  /// What the recorders saw of a pass, added to the step's result.
  void count_time(Recorder::Clock::time_point began, StepResult& result);
  Context context_for(uint32_t kind, const HostTensor& inputs, const HostTensor* targets);
  const Shapes& shapes_for(uint32_t kind, int64_t rows, const Shape& sample);
  void add_micro_batches(StepContext& context, int64_t first_row, int64_t rows, int most);
  StepResult collect(const StepContext& context, int64_t valid) const;
  static void add_losses(const std::vector<std::array<float, 2>>& losses, StepResult& result);
  /// The gradients of a batch, summed; nothing is waited for.
  Posted post_gradients(const Batch& batch, const Context& context);
  void run_passes(Posted& posted);
  void sum_tied(int device);
  void update(const Context& context);
  void share_tied(int device);
  const std::vector<std::vector<Action>>& forward_program(int micro_batches);
  void check_batch(const HostTensor& inputs, const HostTensor* targets, const Shapes& shapes) const;
  void drop_step();
  /// Waits for asynchronous devices, whatever became of them. Their failures come out of the next call. [ctl]
  void settle();
  /// The same, with their failures. [ctl]
  void wait_for_all();
  /// Lets every pair of devices with an edge between them copy once, so that backends see how, and say what is slow.
  void try_links();
  Error with_memory_facts(const Error& error, int device) const;

  /// Cancels count while it lives, or until end().
  class Cancellable {
   public:
    explicit Cancellable(Impl& pipe) : pipe_(pipe) { pipe_.failure.take_cancels(); }
    ~Cancellable();
    Cancellable(const Cancellable&) = delete;
    Cancellable& operator=(const Cancellable&) = delete;
    /// Throws when there was a cancel; later ones come too late.
    void end();

   private:
    Impl& pipe_;
  };

  // ---- pipe_decide.cpp
  void make_decisions();
  /// Norms and losses to every device, which decides; the outcome to the host. Nothing is waited for.
  void decide(Posted& posted, double lr, uint32_t flags);
  void decide_on(int device, const Posted& posted, const DecisionTerms& terms, const std::vector<Event>& ready);
  void post_outcome(Posted& posted);
  /// Waits for the outcome, and takes over how many steps are applied.
  StepResult result_of(const Posted& posted);
  /// The same; throws where the step is not finite and no loss scale may be the reason. `later`: another step was begun
  /// since.
  StepResult take(const Posted& posted, bool later);
  bool is_late() const { return may_be_late && !loss_scale.is_dynamic() && !recording_since; }
  bool is_scaled() const { return loss_scale.is_dynamic() || loss_scale.value() != 1; }
  /// Throws SY_E_STATE while a result has not been given.
  void check_finished() const;
  void set_applied(int64_t steps);

  // ---- pipe_finite.cpp
  /// Runs the forward of the same samples again and throws for the first output that is not finite, naming its layer;
  /// returns when all are finite.
  void find_non_finite(const StepContext& context);
  /// The first parameter, in the order of the model, whose gradient is not finite.
  Error unsound_gradient(uint64_t step);
};

}  // namespace switchyard
