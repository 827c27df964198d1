// A plan built on its devices: weights placed, one thread per device, ready to step.
//
//   caller                       device threads
//   step(batch) ─ post ─────────▶ program of F, B ... ──┐
//              ◀──────── barrier ────────────────────────┘   a failure or a cancel up to here drops the step
//              ─ post ─────────▶ sums of tied gradients, squared norms, brought together on every device;
//                                each decides by itself: clip factor, skip
//              ─ post ─────────▶ finish, optimizer step, new values of tied weights
//   result     ◀─────────────────┘
//
// Devices that are asynchronous may be a whole step behind: begin_step() gives the result of the step before.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/config.hpp"
#include "data/source.hpp"
#include "engine/loss_scale.hpp"
#include "model/model.hpp"
#include "plan/plan.hpp"
#include "plan/timeline.hpp"
#include "plugin/registry.hpp"

namespace switchyard {

struct StepResult {
  uint64_t step = 0;
  double loss = 0;                 // sum over valid targets / valid targets, before the update
  int64_t valid = 0;               // targets that counted
  std::optional<double> accuracy;  // where targets are classes
  double grad_norm = 0;            // global two-norm, before clipping, without the loss scale
  bool skipped = false;            // a gradient was not finite: nothing changed but the loss scale
  double loss_scale = 1;
  std::vector<double> micro_losses;         // sums per micro-batch, in order
  std::vector<std::optional<double>> busy;  // seconds inside of actions, per device
  double passes_s = 0;                      // seconds of all passes together, without norm and update
};

/// One pass of a step as it was measured.
struct RecordedPass {
  double begin = 0;  // seconds since record() was called
  Timeline timeline;
};

struct DevicePeak {
  std::string device;
  uint64_t planned = 0;
  uint64_t measured = 0;  // bytes, since the pipe was built or restart_peaks()
};

/// One tensor of the model as it lies on a device, copied to or from host memory.
struct TensorName {
  int parameter = 0;  // index in the model
  int state = -1;     // -1: the value (fp32 master where there is one); else the optimizer's state
};

class Pipe {
 public:
  /// Allocates, draws initial values (seed, full name, element), binds every layer, starts the threads. `model` and
  /// `plan` belong together. Throws SY_E_STATE for a device that is only planned for. [ctl]
  static std::unique_ptr<Pipe> build(const Config& config, Registry& registry, std::unique_ptr<Model> model, Plan plan);
  ~Pipe();
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;

  Model& model();
  const Plan& plan() const;

  /// One optimizer step on plan().batch samples (or fewer: then rows are dealt anew); `step` counts from 1. Throws the
  /// first failure, with notes plugin, layer, stage, device, micro-batch. The step is then dropped; or, if weights were
  /// being updated, the device failed or a thread hangs, every later call throws SY_E_STATE with this cause. [ctl]
  StepResult step(const Batch& batch, uint64_t step, double lr);
  /// The same, but does not wait for this step where results may come late: that is where every device is asynchronous,
  /// no layer has something to finish (it must know whether the step counts), no dynamic loss scale waits for the
  /// answer, and nothing is recorded. Gives the result of the step that was begun before and not given yet; where
  /// results are not late, of this one. When the step before turns out not to be finite, its failure is thrown and both
  /// are dropped. [ctl]
  std::optional<StepResult> begin_step(const Batch& batch, uint64_t step, double lr);
  /// The result of the step that was begun last; nothing where it was given already. Until then every other call but
  /// begin_step() throws SY_E_STATE. [ctl]
  std::optional<StepResult> finish_step();
  bool has_begun_step() const;
  bool results_are_late() const;
  /// Late results also from synchronous devices, which show what asynchronous ones do. [ctl]
  void make_results_late();
  /// The same without the update: gradients stay until the next step. For compare.
  StepResult gradients(const Batch& batch, uint64_t step);
  /// Loss over a batch of any size in evaluation mode; nothing changes. [ctl]
  StepResult evaluate(const Batch& batch);
  /// Predictions (outputs of the loss layer's FORWARD) on the host in fp32; inputs of any sequence length up to the
  /// model's. last_position: of the last position only. [ctl]
  HostTensor forward(const HostTensor& inputs, bool last_position);

  /// Reads or writes a whole value or state as fp32 (buffers: in their own type) on the host. [ctl]
  void read(const TensorName& which, std::span<std::byte> to) const;
  void write(const TensorName& which, std::span<const std::byte> from);
  /// A parameter's summed gradient of the last step, fp32, before scaling and clipping. [ctl]
  void read_gradient(int parameter, std::span<float> to) const;
  /// Element type of read() and write().
  sy_dtype stored_dtype(const TensorName& which) const;
  /// Copies owners' values to the other uses of tied weights and to compute-type copies; call after write(). [ctl]
  void values_changed();

  /// Whether steps from now on remember when each action and transfer began and ended; they then wait for asynchronous
  /// devices before and after each pass. [ctl]
  void record(bool on);
  /// The passes of the last step that was done, while recording. [ctl]
  const std::vector<RecordedPass>& recorded() const;

  LossScale& loss_scale();
  int64_t applied_steps() const;
  void set_applied_steps(int64_t n);
  std::vector<DevicePeak> peaks() const;
  /// Each device's memory account, in the order of the plan; never freed.
  std::vector<const sy_origin*> accounts() const;
  /// Ends the step, evaluation or forward that is going on: it is dropped and throws SY_E_CANCELLED. Does nothing
  /// between two of them, or once the weights are being updated. [any]
  void cancel();

 private:
  struct Impl;
  explicit Pipe(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace switchyard
