// Carries out the actions of one stage on one device: forward and backward of its layers for one micro-batch at a time.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "data/source.hpp"
#include "engine/device.hpp"
#include "engine/edge_link.hpp"
#include "engine/recorder.hpp"
#include "engine/storage.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"

namespace switchyard {

/// One micro-batch of a step, counted over all passes.
struct MicroBatchInput {
  int number = 0;
  RowRange rows;  // within the step's samples
  const Shapes* shapes = nullptr;
};

/// The caller's batch is lent to the stages until the call returns, also when it returns before a stage that hangs.
class Loan {
 public:
  /// Calls read() while the batch is there. Throws Stopped when it was taken back. [stage]
  template <class Read>
  auto use(Read&& read) {
    const std::shared_lock lock(mutex_);
    if (returned_) throw Stopped();
    return read();
  }
  /// Nobody reads the batch from now on, unless somebody hangs in the very reading. [ctl]
  void take_back() {
    returned_ = true;
    for (int i = 0; i < 100; ++i) {
      if (const std::unique_lock lock(mutex_, std::try_to_lock); lock.owns_lock()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  }

 private:
  std::shared_mutex mutex_;
  std::atomic<bool> returned_{false};
};

/// What one step (or evaluation, or forward) is about; lent to all stages while it runs.
struct StepContext {
  uint32_t kind = SY_TRAIN;
  uint32_t flags = 0;  // SY_CALL_LAST_POSITION
  uint64_t step = 0;
  uint64_t seed = 0;
  uint32_t param_version = 0;
  int64_t batch_rows = 0;
  double loss_weight = 0;
  const HostTensor* inputs = nullptr;
  const HostTensor* targets = nullptr;     // NULL in FORWARD
  const std::byte* input_bytes = nullptr;  // of the inputs, or of a copy that devices read better
  const std::byte* target_bytes = nullptr;
  std::shared_ptr<Loan> loan = std::make_shared<Loan>();  // of both
  std::vector<MicroBatchInput> micro_batches;
  const std::atomic<bool>* stop = nullptr;  // somebody failed: stop at the next layer
  bool records = false;                     // every action's time is remembered
  bool checks_finite = false;               // an output that is not finite is an error; nothing is kept for a backward
  std::vector<Tensor> results;              // of the loss layer, per micro-batch: each written by one stage thread
};

class StageRunner {
 public:
  /// Everything is lent for the runner's life. `links` holds one for each edge of the plan.
  StageRunner(const Model& model, const Plan& plan, const Stage& stage, const Device& device, Recorder& recorder,
              std::vector<std::unique_ptr<EdgeLink>>& links);
  ~StageRunner();
  StageRunner(const StageRunner&) = delete;
  StageRunner& operator=(const StageRunner&) = delete;

  /// Hands every layer its views. [stage]
  void bind(const std::vector<Stored>& stored);
  /// One action. Throws Error with notes, or Stopped. [stage]
  void run(const Action& action, StepContext& context, int micro_batch);
  /// The finish of layers that have one. [stage]
  void finish(const StepContext& context);
  /// Frees whatever a broken step left. No thread may be inside. [ctl]
  void abandon();

 private:
  struct LocalLayer;
  struct EdgePort;
  struct MicroBatch;

  void compile_values(const Plan& plan);
  void compile_gradients(const Plan& plan);
  int value_number(int layer, int output);
  int gradient_number(int layer, int slot);

  void act(const Action& action, StepContext& context, int micro_batch);
  void forward(StepContext& context, int micro_batch);
  void backward(StepContext& context, int micro_batch, bool input_only);
  void backward_weight(StepContext& context, int micro_batch);
  void read_batch(const StepContext& context, MicroBatch& m);
  Tensor batch_tensor(const StepContext& context, const MicroBatchInput& input, bool targets);
  void forward_layer(LocalLayer& layer, StepContext& context, MicroBatch& m);
  std::vector<Tensor> call_forward(LocalLayer& layer, const StepContext& context, MicroBatch& m,
                                   const std::vector<Tensor>& inputs, uint32_t flags);
  void backward_layer(LocalLayer& layer, const StepContext& context, MicroBatch& m, bool input_only);
  Tensor gather_gradient(LocalLayer& layer, std::size_t output, MicroBatch& m);
  void call_backward(LocalLayer& layer, const StepContext& context, MicroBatch& m, const std::vector<Tensor>& gradients,
                     bool input_only);
  void check_output(const LocalLayer& local, const Port& expected, const Tensor& given, const std::string& which,
                    const StepContext& context) const;
  void check_finite(const Tensor& given, std::size_t output) const;
  std::string device_text(sy_device device) const;
  std::vector<Tensor> seen_inputs(const LocalLayer& layer, const std::vector<Tensor>& values) const;
  MicroBatch& micro_batch(int number);

  const Model& model_;
  const Stage stage_;
  const Device& device_;
  Recorder& recorder_;
  const std::vector<PlanDevice>& plan_devices_;
  std::vector<std::unique_ptr<EdgeLink>>& links_;
  std::vector<LocalLayer> layers_;
  std::vector<std::pair<int, int>> values_;     // number -> layer (or -1), output
  std::vector<int> forward_uses_;               // of each value within the stage, sends included
  std::vector<std::pair<int, int>> gradients_;  // number -> using layer, slot
  std::vector<EdgePort> in_, out_, gradients_in_, gradients_out_;
  std::vector<std::unique_ptr<MicroBatch>> in_flight_;
};

}  // namespace switchyard
