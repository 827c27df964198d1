// The inside of a Pipe, shared by building, stepping and reading.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "engine/crew.hpp"
#include "engine/failure.hpp"
#include "engine/pipe.hpp"
#include "engine/stage.hpp"
#include "engine/storage.hpp"
#include "plugin/chosen.hpp"

namespace switchyard {

struct Pipe::Impl {
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
  std::vector<Stored> stored;
  std::vector<std::unique_ptr<DeviceStorage>> storage;
  std::vector<std::unique_ptr<EdgeChannel>> channels;
  std::vector<std::unique_ptr<StageRunner>> stages;
  Failure failure;
  std::unique_ptr<Crew> crew;

  // ---- changes from step to step
  int64_t applied = 0;
  uint32_t param_version = 1;
  std::optional<Error> poisoned;                                     // why no further step is possible
  std::map<int, std::vector<std::vector<Action>>> forward_programs;  // by micro-batches

  // ---- pipe.cpp
  void open_devices();
  void allocate(const StorageOptions& options);
  void draw_initial_values();
  void check_usable() const;

  // ---- pipe_step.cpp
  /// body(device number) on every device's thread; throws the first failure after everybody stopped.
  void on_all(const std::function<void(int)>& body);
  void run_pass(const std::vector<std::vector<Action>>& programs, StepContext& context, int first, int count);
  StepContext context_for(uint32_t kind, const HostTensor& inputs, const HostTensor* targets);
  void add_micro_batches(StepContext& context, int64_t first_row, int64_t rows, int most);
  StepResult collect(const StepContext& context, int64_t valid) const;
  StepResult accumulate_gradients(const Batch& batch, StepContext& context);
  void sum_tied(int device);
  double gradient_norm();
  void update(const StepContext& context, double lr, double norm);
  void share_tied(int device);
  const std::vector<std::vector<Action>>& forward_program(int micro_batches);
  void check_batch(const HostTensor& inputs, const HostTensor* targets, const Shapes& shapes) const;
  void drop_step();
  std::string first_unsound_gradient();
};

}  // namespace switchyard
